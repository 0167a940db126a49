import { assert, it } from "@effect/vitest"
import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Effect, Logger } from "effect"
import { commandLine } from "./CommandLog.ts"

it.effect("what a command is told meanwhile has the form of its faults", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const line = commandLine("organization list")
    const keeping = Logger.layer([Logger.make((entry) => void lines.push(line.log(entry)))])
    yield* Effect.annotateLogs(Effect.logError("the history of the store changed"), {
      history: "hst_1",
      found_on: "7/2"
    }).pipe(Effect.provide(keeping))
    yield* Effect.logWarning("trying again", new StoreUnavailable({ cause: "another process" })).pipe(
      Effect.provide(keeping)
    )
    assert.deepStrictEqual(lines, [
      "svc organization list: the history of the store changed (history hst_1, found on 7/2)",
      "svc organization list: trying again another process"
    ])
  })
)
