import { assert, describe, it, vi } from "@effect/vitest"
import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { historyUnacknowledged } from "@svc/store-postgres/history/PostgresHistory"
import { Cause, Console, Effect } from "effect"
import * as JsonLog from "./JsonLog.ts"

interface LogLine {
  readonly message: string
  readonly cause?: string
}

/** The line that is logged for the parts of a message. */
const logLine = (...message: ReadonlyArray<unknown>) => {
  const lines: Array<string> = []
  return Effect.logWarning(...message).pipe(
    Effect.provide(JsonLog.layer("Info")),
    Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) }),
    Effect.map(() => JSON.parse(lines[0] ?? "{}") as LogLine)
  )
}

const causeOf = (cause: Cause.Cause<unknown>) =>
  Effect.map(logLine("trying again", cause), (line) => line.cause ?? "")

const STATEMENT = "insert into svc.event values ('mnd_secret')"

describe("JsonLog", () => {
  it.effect("says why the store is unavailable, without a stack trace", () =>
    Effect.gen(function* () {
      const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" })
      assert.strictEqual(
        yield* causeOf(Cause.fail(new StoreUnavailable({ cause: refused }))),
        "StoreUnavailable: the database: nothing accepts connections there"
      )
    })
  )

  it.effect(
    "says why the store is unavailable where that is part of a message, and quotes no statement or row",
    () =>
      Effect.gen(function* () {
        const state = Object.assign(new Error("the database system is shutting down"), {
          code: "57P01",
          detail: "Key (id)=(mnd_secret)"
        })
        for (const [cause, expected] of [
          [new Error(STATEMENT, { cause: state }), "the database: the database system is shutting down"],
          [new Error(STATEMENT), "the database: it cannot be reached, or refuses"],
          ["another process holds the folder", "another process holds the folder"]
        ] as const) {
          const line = yield* logLine("unavailable", new StoreUnavailable({ cause }))
          assert.deepStrictEqual(
            { message: line.message, cause: line.cause },
            { message: `unavailable ${expected}`, cause: undefined }
          )
          assert.notMatch(JSON.stringify(line), /insert into|mnd_secret/u)
        }
      })
  )

  it.effect("says what an operator must do about a history that changed", () =>
    Effect.gen(function* () {
      assert.match(
        yield* causeOf(Cause.fail(yield* Effect.flip(historyUnacknowledged))),
        /no operator has acknowledged it: svc store acknowledge-history$/u
      )
    })
  )

  it.effect("keeps the stack trace of a defect", () =>
    Effect.gen(function* () {
      assert.match(yield* causeOf(Cause.die(new Error("broken"))), /broken[\s\S]*at /u)
    })
  )

  it.live("writes the lines of one turn of the event loop at once, in order", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
        written.push(String(text))
        return true
      })
      yield* Effect.forEach(["first", "second", "third"], (message) => Effect.logInfo(message)).pipe(
        Effect.provide(JsonLog.layer("Info"))
      )
      assert.isEmpty(written)
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      write.mockRestore()
      assert.lengthOf(written, 1)
      assert.match(written[0]!, /\}\n$/u)
      const lines = written[0]!
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as LogLine)
      assert.deepStrictEqual(
        lines.map(({ message }) => message),
        ["first", "second", "third"]
      )
    })
  )
})
