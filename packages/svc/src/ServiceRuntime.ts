import { withTimeLimit } from "@svc/client/calls"
import type { Organization } from "@svc/domain/organization/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import { Organizations } from "@svc/domain/ports/Organizations"
import { cachedApiKeys } from "@svc/domain/programs/ApiKeyCache"
import { wakingStore } from "@svc/domain/workers/WakingStore"
import { makeWakeUp, WebhookWakeUp } from "@svc/domain/workers/WebhookWorker"
import { workerLayer } from "@svc/domain/workers/Worker"
import { IdlePause } from "@svc/domain/workers/WorkerPause"
import { fetchKeySet } from "@svc/guarded-http/KeySetFetch"
import { dnsResolve } from "@svc/guarded-http/NameResolver"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import { keySetFault } from "@svc/identity-jwt/IdentityKey"
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import { cachedKeySets } from "@svc/identity-jwt/KeySetCache"
import * as PasskeyVerifierOnDemand from "@svc/passkey-webauthn/PasskeyVerifierOnDemand"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import { layer as sealerLayer } from "@svc/signer/SecretSealerNodeCrypto"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Data, Effect, Layer, ManagedRuntime } from "effect"
import { hostIdentityLayer } from "./HostIdentity.ts"
import { pauseUnreferenced } from "./IdlePause.ts"
import { openingFault } from "./OpeningFault.ts"
import { limitsLayer } from "./ServiceLimits.ts"
import { loggerLayer, makeFaultLog } from "./ServiceLog.ts"
import type { ServiceOptions } from "./ServiceOptions.ts"
import type { ServiceSettings } from "./ServiceSettings.ts"
import { StoreForTests, StoreLayer } from "./Store.ts"

const identityLayer = ({ identify, webhookAllowLoopback: loopbackAllowed = false }: ServiceOptions) => {
  if (identify !== undefined) return hostIdentityLayer(identify)
  const fetched = fetchKeySet({ guard: { loopbackAllowed, resolve: dnsResolve() } })
  return IdentityVerifierJose.layerWith({ resolveKeys: cachedKeySets(fetched) })
}

/**
 * An organization of the options belongs to another environment in this store: what its end users approved there must not
 * count here.
 */
export class OtherEnvironment extends Data.TaggedError("OtherEnvironment")<{
  readonly organization: string
  readonly environment: string
}> {}

/** An organization of the options has keys for identity assertions that must not be trusted, or cannot be used. */
export class IdentityKeysUnsuitable extends Data.TaggedError("IdentityKeysUnsuitable")<{
  readonly organization: string
  readonly fault: string
}> {}

/** Why the inline keys of an organization cannot be used, if there is a reason. */
const identityKeysFault = ({ identity }: Organization): Effect.Effect<string | undefined> =>
  identity !== undefined && "jwks" in identity.keys && identity.algorithms.length > 0
    ? keySetFault(identity.keys.jwks.keys, identity.algorithms)
    : Effect.succeed(undefined)

/** Records the organizations of the options. */
const register = (organizations: ReadonlyArray<Organization>) =>
  Effect.gen(function* () {
    const store = yield* Organizations
    for (const organization of organizations) {
      const fault = yield* identityKeysFault(organization)
      if (fault !== undefined)
        return yield* new IdentityKeysUnsuitable({ organization: organization.id, fault })
      const present = yield* store.find(organization.id)
      if (present !== undefined && present.environment !== organization.environment)
        return yield* new OtherEnvironment({
          organization: organization.id,
          environment: present.environment
        })
      yield* store.put(organization)
    }
  })

/** What this service shares with no other of the process: its hints to its worker, and how the worker pauses. */
const ownReferences = Layer.mergeAll(
  Layer.sync(WebhookWakeUp, makeWakeUp),
  Layer.succeed(IdlePause, pauseUnreferenced)
)

/** Everything that the programs and the two faces need but a logger. */
export const servicesOf = ({ deployment, masterKeys, options, organizations }: ServiceSettings) => {
  const loopbackAllowed = options.webhookAllowLoopback ?? false
  const stored = Layer.provideMerge(
    Layer.provideMerge(Layer.merge(wakingStore, cachedApiKeys), options.store[StoreLayer](options.signer)),
    sealerLayer(masterKeys)
  )
  const forTests = options.store[StoreForTests]
  const ports = Layer.mergeAll(
    stored,
    RandomnessNodeCrypto.layer,
    TimeZonesIntl.layer,
    identityLayer(options),
    PasskeyVerifierOnDemand.layer,
    forTests === undefined
      ? WebhookTransportHttp.layer({ loopbackAllowed })
      : Layer.provide(forTests.transport, stored),
    Layer.succeed(Deployment, deployment),
    limitsLayer(options.limits ?? {})
  )
  const worker = options.worker === false ? Layer.empty : workerLayer
  const services = Layer.mergeAll(Layer.effectDiscard(register(organizations)), worker).pipe(
    Layer.provideMerge(ports),
    Layer.provideMerge(ownReferences),
    Layer.provideMerge(forTests?.clock ?? Layer.empty)
  )
  // Two services of one program share no layer, not even those that are the same value.
  return Layer.fresh(services)
}

type ServicesLayer = ReturnType<typeof servicesOf>
/** The services that the use cases ask for. */
export type Services = Layer.Success<ServicesLayer>

/** Runs an effect with the open services, and keeps them open until it has ended. It is interrupted when a signal is aborted. */
export type RunEffect = <A>(effect: Effect.Effect<A, never, Services>, signal?: AbortSignal) => Promise<A>

/** The services of one `createService`, apart from those of any other. */
export interface ServiceRuntime {
  /** Opens the services unless they are open; a failure is that of this attempt alone. */
  readonly opened: () => Promise<ManagedRuntime.ManagedRuntime<Services, unknown>>
  readonly run: RunEffect
  /** Does work that runs several effects, which are still run while the services close: closing waits for the work. */
  readonly hold: <A>(work: (run: RunEffect) => Promise<A>) => Promise<A>
  /** Has closing wait for work, until that ends. */
  readonly keep: (work: Promise<unknown>) => void
  /** Waits for what is under way, {@link CLOSE_WAIT_MILLISECONDS} at most, then closes the services. */
  readonly close: () => Promise<void>
}

/** The service was closed. */
export class ServiceClosed extends Error {
  override readonly name = "ServiceClosed"
}

/** How long `close` waits for what is under way, in milliseconds: a little longer than a call may take. */
export const CLOSE_WAIT_MILLISECONDS = 12_000

/** Work that has not ended, and a wait for all of it, with what begins meanwhile. */
const makeUnderWay = () => {
  const underWay = new Set<Promise<unknown>>()
  const allEnded = async (): Promise<void> => {
    while (underWay.size > 0) await Promise.allSettled(underWay)
  }
  return {
    keep: (work: Promise<unknown>): void => {
      underWay.add(work)
      const end = () => underWay.delete(work)
      work.then(end, end)
    },
    /** Resolves with how much is left when all has ended or the time is over. */
    leftAfter: (milliseconds: number): Promise<number> =>
      // It rejects with the end of the time alone.
      withTimeLimit(milliseconds, undefined, allEnded).then(
        () => 0,
        () => underWay.size
      )
  }
}

/** Opens the services at first use. */
export const makeRuntime = (settings: ServiceSettings): ServiceRuntime => {
  const layer = Layer.provideMerge(servicesOf(settings), loggerLayer(settings.options.logger))
  const noteFault = makeFaultLog(settings.options.logger)
  const { keep, leftAfter } = makeUnderWay()
  let current: ManagedRuntime.ManagedRuntime<Services, unknown> | undefined
  /** `closing` lets held work go on. */
  let state: "open" | "closing" | "closed" = "open"

  const open: ServiceRuntime["opened"] = async () => {
    current ??= ManagedRuntime.make(layer)
    const attempt = current
    try {
      await attempt.context()
      return attempt
    } catch (cause) {
      // The next call tries again: a database may come back.
      if (current === attempt) current = undefined
      await attempt.dispose()
      const fault = openingFault(cause)
      noteFault(fault.message)
      throw fault
    }
  }
  const openIn = async (...states: ReadonlyArray<typeof state>) => {
    if (states.includes(state)) return open()
    throw new ServiceClosed("the service is closed")
  }
  const runIn =
    (...states: ReadonlyArray<typeof state>): RunEffect =>
    (effect, signal) => {
      const work = openIn(...states).then((runtime) => {
        signal?.throwIfAborted()
        return runtime.runPromise(effect, { signal })
      })
      keep(work)
      return work
    }
  const run = runIn("open")
  const heldRun = runIn("open", "closing")
  const close = async (): Promise<void> => {
    state = "closing"
    const left = await leftAfter(CLOSE_WAIT_MILLISECONDS)
    state = "closed"
    if (left > 0)
      noteFault(
        `close: the store is closed though calls, transactions or answers (${left}) have not ended after ${CLOSE_WAIT_MILLISECONDS} ms`
      )
    await current?.dispose()
  }
  let closed: Promise<void> | undefined
  return {
    opened: () => {
      const opening = openIn("open")
      keep(opening)
      return opening
    },
    run,
    hold: (work) => {
      const held = work(state === "open" ? heldRun : run)
      keep(held)
      return held
    },
    keep,
    close: () => {
      closed ??= close()
      return closed
    }
  }
}
