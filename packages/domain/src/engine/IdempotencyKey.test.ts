import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { holderOf, keyedOperation, optionallyKeyed } from "./IdempotencyKey.ts"

const CREATE = { operation: "POST /v1/mandates", path: {} }
const REVOKE = { operation: "PUT /v1/mandates/{mandate_id}/revocation", path: { mandate_id: "mnd_1" } }
const request = { idempotencyKey: "key-1", body: { reason: "r" } }

describe("an idempotency key (part 3)", () => {
  it.effect("stands for its operation, path and body, and is refused for any other", () =>
    Effect.gen(function* () {
      const held = keyedOperation(request, REVOKE).claim("mnd_1")
      assert.include(held, { kind: "idempotency_key", name: "key-1", resource: "mnd_1" })
      yield* keyedOperation(request, REVOKE).check(held)
      for (const other of [
        keyedOperation(request, CREATE),
        keyedOperation(request, { ...REVOKE, path: { mandate_id: "mnd_2" } }),
        keyedOperation({ ...request, body: { reason: "another" } }, REVOKE)
      ]) {
        assert.strictEqual((yield* Effect.flip(other.check(held)))._tag, "IdempotencyKeyReused")
      }
    })
  )

  it("is held by the claim of its kind and name", () => {
    const key = keyedOperation(request, REVOKE)
    const claim = key.claim("mnd_1")
    const held = [{ ...claim, kind: "commitment" as const }, { ...claim, name: "key-2" }, claim]
    assert.strictEqual(holderOf(held, key.claimName), claim)
    assert.isUndefined(holderOf(held.slice(0, 2), key.claimName))
  })

  it("may be absent where a write may do without", () => {
    assert.isUndefined(optionallyKeyed({ ...request, idempotencyKey: "" }, REVOKE))
    assert.strictEqual(optionallyKeyed(request, REVOKE)?.claimName.name, "key-1")
  })
})
