import { retention } from "@svc/domain/workers/CleaningWorker"
import { workerLayer } from "@svc/domain/workers/Worker"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { Effect, Layer } from "effect"
import { workerConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import * as JsonLog from "../start/JsonLog.ts"
import * as StoreLayer from "../start/StoreLayer.ts"
import { instrumentsOf } from "../start/Telemetry.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"

const work = Effect.gen(function* () {
  const config = yield* workerConfig
  const { logLevel, masterKeys, store, webhookLoopback } = config
  const instruments = yield* instrumentsOf(config)
  const startAndStopLogs = Layer.effectDiscard(
    Effect.acquireRelease(Effect.logInfo("working"), () => Effect.logInfo("stopping"))
  )
  return yield* startAndStopLogs.pipe(
    Layer.provide(Layer.merge(workerLayer, instruments.beside)),
    Layer.provide(retention(config)),
    Layer.provide(
      Layer.mergeAll(
        // A worker signs no evidence, but a wrong master key must stop its start before it wastes webhook attempts.
        Layer.provideMerge(
          Layer.provideMerge(instruments.store, StoreLayer.layer(store, { migrations: "require" })),
          SecretSealerNodeCrypto.layer(masterKeys)
        ),
        RandomnessNodeCrypto.layer,
        Layer.provide(
          instruments.webhookTransport,
          WebhookTransportHttp.layerLoaded({ loopbackAllowed: webhookLoopback })
        )
      )
    ),
    Layer.provide(instruments.observers),
    Layer.provide([JsonLog.layer(logLevel), instruments.tracing]),
    Layer.launch
  )
})

/** `svc worker`: the background work alone, until interrupted. */
export const workerCommand: Command = {
  name: "worker",
  help: helpOf(
    `svc worker: records transitions as they become due (approval deadlines, starts and ends of windows, expiries), without
waiting for a request, and delivers webhooks. Any number of workers can share one Postgres server. Answers of the API are
correct without them.`,
    SETTINGS_OF.worker
  ),
  run: Effect.fnUntraced(function* (words) {
    yield* readOptions({}, words)
    yield* work
  })
}
