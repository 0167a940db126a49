import { Effect, Layer } from "effect"
import { serverConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import * as JsonLog from "../start/JsonLog.ts"
import { tellIfNoneIsServed } from "../start/ServedOrganizations.ts"
import { instrumentsOf } from "../start/Telemetry.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"

const serve = Effect.fnUntraced(function* (hasWorker: boolean) {
  const config = yield* serverConfig
  const [{ listenersLayer, portsLayer }, { workerLayer }] = yield* Effect.promise(() =>
    Promise.all([import("../start/CompositionRoot.ts"), import("@svc/domain/workers/Worker")])
  )
  const instruments = yield* instrumentsOf(config)
  const serving = Effect.logInfo("serving").pipe(
    Effect.annotateLogs({
      environment: config.environment,
      base_url: config.baseUrl,
      approval_base_url: config.approvalBaseUrl,
      worker: hasWorker
    })
  )
  // An outage since the start is told by the probes, and does not end it.
  const checked = Effect.catchTag(tellIfNoneIsServed(config.environment), "StoreUnavailable", (fault) =>
    Effect.logWarning("the organizations could not be read at the start", fault)
  )
  const startAndStopLogs = Layer.effectDiscard(
    Effect.acquireRelease(Effect.andThen(checked, serving), () => Effect.logInfo("stopping"))
  )
  return yield* startAndStopLogs.pipe(
    Layer.provide(
      Layer.mergeAll(listenersLayer(config), hasWorker ? workerLayer : Layer.empty, instruments.beside)
    ),
    Layer.provide(portsLayer(config, { migrations: "require" }, instruments)),
    Layer.provide(instruments.observers),
    Layer.provide([JsonLog.layer(config.logLevel), instruments.tracing]),
    Layer.launch
  )
})

/** `svc serve`: the API and the approval pages, until interrupted. */
export const serveCommand: Command = {
  name: "serve",
  help: helpOf(
    `svc serve: the API, the approval pages, and a worker that records due transitions and delivers webhooks.

  --no-worker   without the worker, where svc worker runs separately`,
    SETTINGS_OF.serve
  ),
  run: Effect.fnUntraced(function* (words) {
    const { "no-worker": isAlone } = yield* readOptions({ "no-worker": "flag" }, words)
    yield* serve(!isAlone)
  })
}
