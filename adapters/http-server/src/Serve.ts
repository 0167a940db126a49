import { Effect, Layer } from "effect"
import { serverConfig } from "./Config.ts"
import * as JsonLog from "./JsonLog.ts"
import { listenersLayer, portsLayer } from "./Service.ts"

/** `svc serve` (part 9): the API and the approval pages, until it is interrupted. */
export const serve = Effect.gen(function* () {
  const config = yield* serverConfig
  return yield* listenersLayer(config).pipe(
    Layer.provide(portsLayer(config, { localhostReturnOrigins: false })),
    Layer.provide(JsonLog.layer(config.logLevel)),
    Layer.launch
  )
})
