import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { lifecycle, ports } from "./embedded.ts"

it.effect("embedded.ts completes the whole lifecycle", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.UTC(2027, 0, 1))
    assert.deepStrictEqual(yield* lifecycle, {
      decision: "ALLOW",
      outcome: "COMMITTED",
      proven: [
        "mandate.created",
        "mandate.approved",
        "authorization.reserved",
        "authorization.committed",
        "mandate.consumed"
      ]
    })
  }).pipe(Effect.provide(ports))
)
