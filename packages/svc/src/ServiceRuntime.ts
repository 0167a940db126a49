import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
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
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { hostIdentityLayer } from "./HostIdentity.ts"
import { loggerLayer } from "./ServiceLog.ts"
import {
  deploymentOf,
  type Mounts,
  masterKeyOf,
  organizationOf,
  type ServiceOptions
} from "./ServiceOptions.ts"
import { StoreLayer } from "./Store.ts"

const redactedKey = (key: string | Uint8Array, name: string) =>
  Redacted.make(masterKeyOf(key, name), { label: "master key" })

const masterKeysOf = ({ masterKey, masterKeyPrevious: previous, store }: ServiceOptions) => {
  if (masterKey === undefined && store.outlivesProcess)
    throw new TypeError(
      `createService: masterKey is missing: secrets in the store are sealed under it. Keep ${MASTER_KEY_BYTES} random bytes as a secret of the deployment.`
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

/** Everything that the programs and the two faces need, as the options say. Throws if they contradict each other. */
export const servicesOf = (options: ServiceOptions, mounts: Mounts) => {
  const organizations = (options.organizations ?? []).map((each) => organizationOf(each, options))
  const stored = Layer.provideMerge(
    Layer.provideMerge(wakingStore, options.store[StoreLayer]),
    sealerLayer(masterKeysOf(options))
  )
  const ports = Layer.mergeAll(
    stored,
    RandomnessNodeCrypto.layer,
    TimeZonesIntl.layer,
    identityLayer(options),
    PasskeyVerifierOnDemand.layer,
    WebhookTransportHttp.layer({ loopbackAllowed: false }),
    Layer.succeed(Deployment, deploymentOf(options, mounts)),
    // Commands on one mandate are combined, which those of two services, whose stores may differ, must never be.
    Layer.sync(StreamTurns, makeTurns),
    rateLimitOf(options)
  )
  const registered = Layer.effectDiscard(
    Effect.gen(function* () {
      const store = yield* Organizations
      for (const organization of organizations) yield* store.put(organization)
    })
  )
  const worker = options.worker === false ? Layer.empty : workerLayer
  return Layer.mergeAll(registered, worker).pipe(
    Layer.provideMerge(ports),
    Layer.provideMerge(loggerLayer(options.logger))
  )
}

/** The services of one `createService`, opened at first use or by `ready`, apart from those of any other. */
export const makeRuntime = (options: ServiceOptions, mounts: Mounts) =>
  ManagedRuntime.make(servicesOf(options, mounts))

export type ServiceRuntime = ReturnType<typeof makeRuntime>
export type Services = ServiceRuntime extends ManagedRuntime.ManagedRuntime<infer R, unknown> ? R : never
