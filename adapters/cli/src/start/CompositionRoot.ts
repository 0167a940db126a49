import { allowsLocalhostReturn } from "@svc/domain/approval/ReturnUrl"
import { Deployment } from "@svc/domain/ports/Deployment"
import { cachedApiKeys } from "@svc/domain/programs/ApiKeyCache"
import { retention } from "@svc/domain/workers/CleaningWorker"
import { wakingStore } from "@svc/domain/workers/WakingStore"
import { fetchKeySet } from "@svc/guarded-http/KeySetFetch"
import { dnsResolve } from "@svc/guarded-http/NameResolver"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import * as ApiServer from "@svc/http-server/api/ApiServer"
import * as ApprovalServer from "@svc/http-server/approval/ApprovalServer"
import * as RateLimit from "@svc/http-server/gate/RateLimit"
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import { cachedKeySets } from "@svc/identity-jwt/KeySetCache"
import * as PasskeyVerifierOnDemand from "@svc/passkey-webauthn/PasskeyVerifierOnDemand"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Layer } from "effect"
import type { ServerConfig } from "../config/Config.ts"
import { type Instruments, NO_INSTRUMENTS } from "./Instruments.ts"
import type { StoreOptions } from "./StoreLayer.ts"
import * as StoreLayer from "./StoreLayer.ts"

const deploymentLayer = (config: ServerConfig) =>
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

/** The adapters that implement the ports of the domain, shared by both listeners and the worker. */
export const portsLayer = (
  config: ServerConfig,
  options: StoreOptions,
  instruments: Instruments = NO_INSTRUMENTS
) =>
  Layer.mergeAll(
    Layer.provideMerge(
      Layer.provideMerge(
        Layer.merge(wakingStore, cachedApiKeys),
        Layer.provideMerge(instruments.store, StoreLayer.layer(config.store, options))
      ),
      SecretSealerNodeCrypto.layer({ current: config.masterKey, previous: config.masterKeyPrevious })
    ),
    RandomnessNodeCrypto.layer,
    TimeZonesIntl.layer,
    Layer.provide(
      instruments.identityVerifier,
      IdentityVerifierJose.layerWith({
        resolveKeys: cachedKeySets(
          fetchKeySet({ guard: { loopbackAllowed: config.webhookLoopback, resolve: dnsResolve() } })
        )
      })
    ),
    PasskeyVerifierOnDemand.layer,
    Layer.provide(
      instruments.webhookTransport,
      WebhookTransportHttp.layerLoaded({ loopbackAllowed: config.webhookLoopback })
    ),
    retention(config),
    deploymentLayer(config)
  )

const rateLimitLayer = (config: ServerConfig) =>
  config.rateLimit === "off" ? RateLimit.layerOff : RateLimit.layer(config.rateLimit)

/** The listeners of the API and the approval pages. The caller provides `portsLayer`, so that both share one store. */
export const listenersLayer = (config: ServerConfig) => {
  const common = {
    trustedProxies: config.trustedProxies,
    ...(config.host === undefined ? {} : { host: config.host })
  }
  return Layer.merge(
    ApiServer.layer({ port: config.port, ...common }),
    ApprovalServer.layer({ port: config.approvalPort, ...common })
  ).pipe(Layer.provide(rateLimitLayer(config)))
}
