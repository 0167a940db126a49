import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ports, proposeTooEarly } from "./embedded.ts"

it.effect("the embedded core refuses an action that nobody approved", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.UTC(2027, 0, 1))
    const authorization = yield* proposeTooEarly
    assert.strictEqual(authorization.decision, "DENY")
    assert.isFalse(authorization.can_execute)
    assert.deepStrictEqual(
      authorization.reasons.map((reason) => reason.code),
      ["MANDATE_NOT_APPROVED"]
    )
  }).pipe(Effect.provide(ports))
)
