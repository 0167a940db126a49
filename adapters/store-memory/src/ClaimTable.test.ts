import { assert, describe, it } from "@effect/vitest"
import { ClaimTable } from "./ClaimTable.ts"

const assertion = (name: string, expiresAt: bigint) => ({
  kind: "assertion" as const,
  name,
  fingerprint: "",
  resource: `for ${name}`,
  expiresAt
})

describe("ClaimTable", () => {
  it("holds a claim until the instant at which it ends", () => {
    const claims = new ClaimTable()
    claims.take(assertion("a", 10n), 1n)
    assert.deepStrictEqual(claims.holder("assertion", "a", 9n), { fingerprint: "", resource: "for a" })
    assert.isUndefined(claims.holder("assertion", "a", 10n))
    assert.isUndefined(claims.holder("commitment", "a", 9n))
  })

  it("gives an ended claim to the next who takes it", () => {
    const claims = new ClaimTable()
    claims.take(assertion("a", 10n), 1n)
    claims.take({ ...assertion("a", 30n), resource: "the second" }, 10n)
    assert.strictEqual(claims.holder("assertion", "a", 29n)?.resource, "the second")
    assert.strictEqual(claims.size, 1)
  })

  it("forgets ended claims, so that its size follows the claims alive", () => {
    const claims = new ClaimTable()
    claims.take({ kind: "commitment", name: "lasting", fingerprint: "", resource: "aut" }, 0n)
    for (let now = 0n; now < 100_000n; now++) claims.take(assertion(`jti ${now}`, now + 100n), now)
    assert.isAtMost(claims.size, 1025)
    assert.isDefined(claims.holder("assertion", "jti 99999", 99_999n))
    assert.isDefined(claims.holder("commitment", "lasting", 99_999n))
  })
})
