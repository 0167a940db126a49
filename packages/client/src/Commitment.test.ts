import { assert, describe, it } from "@effect/vitest"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf as protocolCommitment } from "@svc/protocol/evidence/Commitment"
import { byteVectors } from "@svc/protocol/test/ByteVectors"
import { commitmentOf, createCommitment } from "./Commitment.ts"
import { SvcError } from "./SvcError.ts"

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error) => (error instanceof SvcError ? error.code : error)
  )

describe("a commitment (part 5)", () => {
  it.each(byteVectors.commitment)(
    "to the opening $opening is the vector's",
    async ({ commitment, opening }) => {
      assert.strictEqual(await commitmentOf(opening), commitment)
    }
  )

  it("that is drawn is the protocol's, of a fresh opening each time", async () => {
    const drawn = await Promise.all(Array.from({ length: 50 }, createCommitment))
    for (const { commitment, opening } of drawn) {
      assert.match(opening, /^[\w-]{43}$/u)
      assert.strictEqual(protocolCommitment(decodeBase64Url(opening)!), commitment)
    }
    assert.lengthOf(new Set(drawn.map(({ opening }) => opening)), 50)
  })

  it.each([
    "",
    "A".repeat(42),
    "A".repeat(44),
    `${"A".repeat(42)}B`,
    `${"A".repeat(42)}=`,
    `${"A".repeat(42)}+`
  ])("of the opening %j is refused", async (opening) => {
    assert.strictEqual(await codeOf(commitmentOf(opening)), "invalid_argument")
  })
})
