import { Deployment } from "@svc/domain/ports/Deployment"
import { allowsLocalhostReturn } from "@svc/domain/ReturnUrl"
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import { cachedKeySets } from "@svc/identity-jwt/KeySetCache"
import * as PasskeyVerifierOnDemand from "@svc/passkey-webauthn/PasskeyVerifierOnDemand"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { fetchKeySet } from "@svc/webhook-http/KeySetFetch"
import { dnsResolve } from "@svc/webhook-http/NameResolver"
import * as WebhookTransportHttp from "@svc/webhook-http/WebhookTransportHttp"
import { Layer } from "effect"
import * as ApiServer from "./api/ApiServer.ts"
import * as RateLimit from "./api/RateLimit.ts"
import * as ApprovalServer from "./approval/ApprovalServer.ts"
import type { ServerConfig } from "./Config.ts"
import type { StoreOptions } from "./StoreLayer.ts"
import * as StoreLayer from "./StoreLayer.ts"
import { wakingStore } from "./WakingStore.ts"

const deployment = (config: ServerConfig) =>
  Layer.succeed(
    Deployment,
    Deployment.of({
      environment: config.environment,
      baseUrl: config.baseUrl,
      approvalBaseUrl: config.approvalBaseUrl,
      approvalOrigin: config.approvalBaseUrl,
      rpId: config.rpId,
      localhostReturnOrigins: allowsLocalhostReturn(config.environment)
    })
  )

/** The ports of the domain: what both listeners stand on, built once. */
export const portsLayer = (config: ServerConfig, options: StoreOptions) =>
  Layer.mergeAll(
    Layer.provideMerge(
      Layer.provideMerge(wakingStore, StoreLayer.layer(config.store, options)),
      SecretSealerNodeCrypto.layer({ current: config.masterKey, previous: config.masterKeyPrevious })
    ),
    RandomnessNodeCrypto.layer,
    TimeZonesIntl.layer,
    IdentityVerifierJose.layerWith({
      resolveKeys: cachedKeySets(
        fetchKeySet({ guard: { loopbackAllowed: config.webhookLoopback, resolve: dnsResolve() } })
      )
    }),
    PasskeyVerifierOnDemand.layer,
    WebhookTransportHttp.layer({ loopbackAllowed: config.webhookLoopback }),
    deployment(config)
  )

const limits = (config: ServerConfig) =>
  config.rateLimit === "off" ? RateLimit.layerOff : RateLimit.layer(config.rateLimit)

/** Both listeners. `portsLayer` is provided outside of them, so that they share it. */
export const listenersLayer = (config: ServerConfig) => {
  const shared = {
    trustedProxies: config.trustedProxies,
    ...(config.host === undefined ? {} : { host: config.host })
  }
  return Layer.merge(
    ApiServer.layer({ port: config.port, ...shared }),
    ApprovalServer.layer({ port: config.approvalPort, ...shared })
  ).pipe(Layer.provide(limits(config)))
}
