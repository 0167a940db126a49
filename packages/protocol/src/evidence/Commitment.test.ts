import { assert, describe, it } from "@effect/vitest"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Schema from "effect/Schema"
import { byteVectors } from "../../test/ByteVectors.ts"
import { decodeBase64Url, encodeBase64Url } from "../Base64Url.ts"
import { domainHash } from "../crypto/DomainHash.ts"
import { commitmentOf, OPENING_BYTES, openingMatches } from "./Commitment.ts"
import { Commitment, CommitmentOpening } from "./CommitmentSchema.ts"

describe("a commitment (part 5)", () => {
  it.each(byteVectors.commitment)(
    "to the vector's opening $opening is the vector's",
    ({ opening, commitment }) => {
      const bytes = decodeBase64Url(opening)!
      assert.strictEqual(commitmentOf(bytes), commitment)
      assert.isTrue(openingMatches(bytes, commitment))
      assert.isTrue(Schema.is(CommitmentOpening)(opening) && Schema.is(Commitment)(commitment))
    }
  )

  it("is refused for an opening of other than 32 bytes", () => {
    for (const length of [0, 31, 33]) assert.throws(() => commitmentOf(new Uint8Array(length)), RangeError)
  })
})

describe("the match of an opening with its commitment (part 5)", () => {
  const opening = new Uint8Array(OPENING_BYTES).fill(3)
  const commitment = commitmentOf(opening)

  it("fails for any changed bit of the opening", () => {
    for (let bit = 0; bit < OPENING_BYTES * 8; bit++) {
      const other = opening.slice()
      other[bit >> 3]! ^= 1 << (bit & 7)
      assert.isFalse(openingMatches(other, commitment))
    }
  })

  it("fails for another length, another domain line and a malformed commitment", () => {
    assert.isFalse(openingMatches(opening.subarray(1), commitment))
    assert.isFalse(openingMatches(Uint8Array.of(...opening, 0), commitment))
    const short = opening.subarray(1)
    const ofShort = encodeBase64Url(domainHash("svc:authorization:commitment:v1", short))
    assert.isFalse(openingMatches(short, ofShort))
    const bare = encodeBase64Url(sha256(opening))
    const otherLine = sha256(
      Uint8Array.of(...new TextEncoder().encode("svc:mandate:policy:v1\n"), ...opening)
    )
    for (const wrong of [bare, encodeBase64Url(otherLine), "", `${commitment}=`, commitment.slice(1), "☎"]) {
      assert.isFalse(openingMatches(opening, wrong))
    }
  })
})

describe("the schemas of openings and commitments (part 5)", () => {
  const text = encodeBase64Url(new Uint8Array(32))
  it.each([
    encodeBase64Url(new Uint8Array(31)),
    encodeBase64Url(new Uint8Array(33)),
    "00".repeat(32),
    `${text}=`,
    `${text.slice(0, 42)}B`,
    `${text.slice(0, 42)}+`,
    ` ${text}`,
    `${text}\n`,
    ""
  ])("refuse %j", (wrong) => {
    assert.isFalse(Schema.is(Commitment)(wrong))
    assert.isFalse(Schema.is(CommitmentOpening)(wrong))
  })
})
