import { workerLayer } from "@svc/domain/workers/Worker"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { Effect, Layer } from "effect"
import { helpOf, SETTINGS_OF, workerConfig } from "../config/Config.ts"
import * as JsonLog from "../start/JsonLog.ts"
import * as StoreLayer from "../start/StoreLayer.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"

const work = Effect.gen(function* () {
  const { logLevel, masterKeys, store, webhookLoopback } = yield* workerConfig
  const announced = Layer.effectDiscard(
    Effect.acquireRelease(Effect.logInfo("working"), () => Effect.logInfo("stopping"))
  )
  return yield* announced.pipe(
    Layer.provide(workerLayer),
    Layer.provide(
      Layer.mergeAll(
        // Signs nothing, but does not start with a master key that opens nothing: it would use up attempts in vain.
        Layer.provideMerge(
          StoreLayer.layer(store, { migrations: "require" }),
          SecretSealerNodeCrypto.layer(masterKeys)
        ),
        RandomnessNodeCrypto.layer,
        WebhookTransportHttp.layer({ loopbackAllowed: webhookLoopback })
      )
    ),
    Layer.provide(JsonLog.layer(logLevel)),
    Layer.launch
  )
})

/** `svc worker` (part 9): the background work alone, until it is interrupted. */
export const workerCommand: Command = {
  name: "worker",
  help: helpOf(
    `svc worker: records transitions when they come due (approval deadlines, starts and ends of windows, expiries), without
waiting for somebody to look, and delivers webhooks. Any number of workers share one Postgres server. Correct answers never depend on them.`,
    SETTINGS_OF.worker
  ),
  run: Effect.fnUntraced(function* (words) {
    yield* readOptions({}, words)
    yield* work
  })
}
