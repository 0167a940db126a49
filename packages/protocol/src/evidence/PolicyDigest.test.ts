import { assert, describe, it } from "@effect/vitest"
import { byteVectors } from "../../test/ByteVectors.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"
import { policyDigest } from "./PolicyDigest.ts"

describe("the policy digest (part 4)", () => {
  it.each(byteVectors.policy_digest)("is the vector's: $policy_digest", ({ policy, jcs, policy_digest }) => {
    assert.strictEqual(canonicalJson(policy), jcs)
    assert.strictEqual(policyDigest(policy), policy_digest)
  })

  it("depends on the order of lists but not on that of members", () => {
    assert.strictEqual(policyDigest({ a: 1, b: [1, 2] }), policyDigest({ b: [1, 2], a: 1 }))
    assert.notStrictEqual(policyDigest({ a: 1, b: [1, 2] }), policyDigest({ a: 1, b: [2, 1] }))
  })
})
