import { assert, describe, it } from "@effect/vitest"
import { IdentityKeysUnavailable } from "@svc/domain/ports/IdentityVerifier"
import { Effect } from "effect"
import { refusing } from "./RefusalProblem.ts"

describe("refusing", () => {
  it.effect("answers keys that cannot be had as 503, to be repeated when a fetch may help", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(
        refusing(Effect.fail(new IdentityKeysUnavailable({ cause: "down", retryAfterSeconds: 5 })))
      )
      assert.strictEqual(refused.code, "store_unavailable")
      assert.deepStrictEqual(refused.headers, { "retry-after": "5" })
    })
  )
})
