import { Effect, Layer } from "effect"
import { serverConfig } from "./Config.ts"
import * as JsonLog from "./JsonLog.ts"
import { listenersLayer, portsLayer } from "./Service.ts"

/** `svc serve` (part 9): the API and the approval pages, until it is interrupted. */
export const serve = Effect.gen(function* () {
  const config = yield* serverConfig
  const announced = Layer.effectDiscard(
    Effect.acquireRelease(
      Effect.logInfo("serving").pipe(
        Effect.annotateLogs({
          environment: config.environment,
          base_url: config.baseUrl,
          approval_base_url: config.approvalBaseUrl
        })
      ),
      () => Effect.logInfo("stopping")
    )
  )
  return yield* announced.pipe(
    Layer.provide(listenersLayer(config)),
    Layer.provide(portsLayer(config, { localhostReturnOrigins: false, migrations: "require" })),
    Layer.provide(JsonLog.layer(config.logLevel)),
    Layer.launch
  )
})
