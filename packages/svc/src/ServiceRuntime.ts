import { Deployment } from "@svc/domain/ports/Deployment"
import { Organizations } from "@svc/domain/ports/Organizations"
import { wakingStore } from "@svc/domain/workers/WakingStore"
import { workerLayer } from "@svc/domain/workers/Worker"
import { fetchKeySet } from "@svc/guarded-http/KeySetFetch"
import { dnsResolve } from "@svc/guarded-http/NameResolver"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import * as RateLimit from "@svc/http-server/gate/RateLimit"
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import { cachedKeySets } from "@svc/identity-jwt/KeySetCache"
import * as PasskeyVerifierOnDemand from "@svc/passkey-webauthn/PasskeyVerifierOnDemand"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import { MASTER_KEY_BYTES, layer as sealerLayer } from "@svc/signer/SecretSealerNodeCrypto"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Data, Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { hostIdentityLayer } from "./HostIdentity.ts"
import { openingFault } from "./OpeningFault.ts"
import { loggerLayer } from "./ServiceLog.ts"
import {
  deploymentOf,
  type Mounts,
  masterKeyOf,
  organizationOf,
  type ServiceOptions
} from "./ServiceOptions.ts"
import { StoreForTests, StoreLayer } from "./Store.ts"

const redactedKey = (key: string | Uint8Array, name: string) =>
  Redacted.make(masterKeyOf(key, name), { label: "master key" })

const masterKeysOf = ({ masterKey, masterKeyPrevious: previous, store }: ServiceOptions) => {
  if (masterKey === undefined && store.outlivesProcess)
    throw new TypeError(
      `createService: masterKey is missing: secrets in the store are sealed under it. Make one with node -p "crypto.randomBytes(${MASTER_KEY_BYTES}).toString('base64url')" and keep it as a secret of the deployment.`
    )
  return {
    current: redactedKey(masterKey ?? crypto.getRandomValues(new Uint8Array(MASTER_KEY_BYTES)), "masterKey"),
    ...(previous === undefined ? {} : { previous: redactedKey(previous, "masterKeyPrevious") })
  }
}

const rateLimitOf = ({ rateLimit = RateLimit.DEFAULT_RATE }: ServiceOptions) =>
  rateLimit === "off" ? RateLimit.layerOff : RateLimit.layer(rateLimit)

const identityLayer = ({ identify }: ServiceOptions) => {
  if (identify !== undefined) return hostIdentityLayer(identify)
  const fetched = fetchKeySet({ guard: { loopbackAllowed: false, resolve: dnsResolve() } })
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

/** Everything that the programs and the two faces need but a logger, as the options say. Throws if they contradict each other. */
export const servicesOf = (options: ServiceOptions, mounts: Mounts) => {
  const organizations = (options.organizations ?? []).map((each) => organizationOf(each, options))
  const stored = Layer.provideMerge(
    Layer.provideMerge(wakingStore, options.store[StoreLayer]),
    sealerLayer(masterKeysOf(options))
  )
  const forTests = options.store[StoreForTests]
  const ports = Layer.mergeAll(
    stored,
    RandomnessNodeCrypto.layer,
    TimeZonesIntl.layer,
    identityLayer(options),
    PasskeyVerifierOnDemand.layer,
    forTests === undefined
      ? WebhookTransportHttp.layer({ loopbackAllowed: false })
      : Layer.provide(forTests.transport, stored),
    Layer.succeed(Deployment, deploymentOf(options, mounts)),
    rateLimitOf(options)
  )
  const registered = Layer.effectDiscard(
    Effect.gen(function* () {
      const store = yield* Organizations
      for (const organization of organizations) {
        const present = yield* store.find(organization.id)
        if (present !== undefined && present.environment !== organization.environment)
          return yield* new OtherEnvironment({
            organization: organization.id,
            environment: present.environment
          })
        yield* store.put(organization)
      }
    })
  )
  const worker = options.worker === false ? Layer.empty : workerLayer
  return Layer.mergeAll(registered, worker).pipe(
    Layer.provideMerge(ports),
    Layer.provideMerge(forTests?.clock ?? Layer.empty)
  )
}

type ServicesLayer = ReturnType<typeof servicesOf>
/** The services that the use cases ask for. */
export type Services = Layer.Success<ServicesLayer>

/** The services of one `createService`, apart from those of any other. */
export interface ServiceRuntime {
  /** Opens the services unless they are open; a failure is that of this attempt alone. */
  readonly opened: () => Promise<ManagedRuntime.ManagedRuntime<Services, unknown>>
  /** Runs an effect with the open services, and keeps them open until it has ended. */
  readonly run: <A>(effect: Effect.Effect<A, never, Services>) => Promise<A>
  /** Lets what runs end, then closes the services. */
  readonly close: () => Promise<void>
}

/** The service was closed. */
export class ServiceClosed extends Error {
  override readonly name = "ServiceClosed"
}

/** Opens the services at first use. Throws if the options contradict each other. */
export const makeRuntime = (options: ServiceOptions, mounts: Mounts): ServiceRuntime => {
  const layer = Layer.provideMerge(servicesOf(options, mounts), loggerLayer(options.logger))
  const underWay = new Set<Promise<unknown>>()
  let current: ManagedRuntime.ManagedRuntime<Services, unknown> | undefined
  let isClosed = false

  const opened: ServiceRuntime["opened"] = async () => {
    if (isClosed) throw new ServiceClosed("the service is closed")
    current ??= ManagedRuntime.make(layer)
    const attempt = current
    try {
      await attempt.context()
      return attempt
    } catch (cause) {
      // The next call tries again: a database may come back.
      if (current === attempt) current = undefined
      await attempt.dispose()
      throw openingFault(cause)
    }
  }
  const kept = <A>(work: Promise<A>): Promise<A> => {
    underWay.add(work)
    const end = () => underWay.delete(work)
    work.then(end, end)
    return work
  }
  return {
    opened,
    run: (effect) => kept(opened().then((runtime) => runtime.runPromise(effect))),
    close: async () => {
      isClosed = true
      await Promise.allSettled(underWay)
      await current?.dispose()
    }
  }
}
