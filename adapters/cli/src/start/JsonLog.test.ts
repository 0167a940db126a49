import { assert, describe, it } from "@effect/vitest"
import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { historyUnacknowledged } from "@svc/store-postgres/PostgresHistory"
import { Cause, Console, Effect } from "effect"
import * as JsonLog from "./JsonLog.ts"

/** What is logged of a failure. */
const causeOf = (cause: Cause.Cause<unknown>) => {
  const lines: Array<string> = []
  return Effect.logWarning("trying again", cause).pipe(
    Effect.provide(JsonLog.layer("Info")),
    Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) }),
    Effect.map(() => JSON.parse(lines[0] ?? "{}").cause as string)
  )
}

describe("a log line", () => {
  it.effect("says why the store cannot be had, without a stack", () =>
    Effect.gen(function* () {
      const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" })
      assert.strictEqual(
        yield* causeOf(Cause.fail(new StoreUnavailable({ cause: refused }))),
        "StoreUnavailable: the database: nothing accepts connections there"
      )
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

  it.effect("keeps the stack of a defect", () =>
    Effect.gen(function* () {
      assert.match(yield* causeOf(Cause.die(new Error("broken"))), /broken[\s\S]*at /u)
    })
  )
})
