import { assert, describe, it } from "@effect/vitest"
import { at, DAY } from "../../test/MandateStory.ts"
import { isWithdrawn, type SigningKeyRecord, signingKeyAt, startedSigningKeys } from "./SigningKeyRecords.ts"

const NOW = at("2026-12-01T00:00:00Z")

const key = (
  kid: string,
  signsFrom: SigningKeyRecord["signsFrom"],
  withdrawnAt?: SigningKeyRecord["withdrawnAt"]
): SigningKeyRecord => ({
  publicJwk: { kid } as SigningKeyRecord["publicJwk"],
  sealed: undefined,
  createdAt: NOW - 90n * DAY,
  signsFrom,
  ...(withdrawnAt === undefined ? {} : { withdrawnAt })
})

const kids = (keys: ReadonlyArray<SigningKeyRecord>) => keys.map(({ publicJwk }) => publicJwk.kid)

describe("signing keys", () => {
  const oldest = key("oldest", NOW - 60n * DAY)
  const newer = key("newer", NOW - 30n * DAY)
  const starting = key("starting", NOW)
  const pending = key("pending", NOW + 1n)
  const compromised = key("compromised", NOW - DAY, NOW)
  const neverSigned = key("never signed", undefined)

  it("that sign are those that have started and are not withdrawn, the latest first, in whatever order they are kept", () => {
    const keys = [oldest, compromised, starting, neverSigned, newer, pending]
    assert.deepStrictEqual(kids(startedSigningKeys(keys, NOW)), ["starting", "newer", "oldest"])
    assert.deepStrictEqual(kids(startedSigningKeys(keys.toReversed(), NOW)), ["starting", "newer", "oldest"])
    assert.deepStrictEqual(kids(startedSigningKeys(keys, NOW - 1n)), ["newer", "oldest"])
  })

  it("have one that signs at an instant, or none", () => {
    assert.strictEqual(signingKeyAt([oldest, newer, pending], NOW), newer)
    assert.isUndefined(signingKeyAt([pending, compromised, neverSigned], NOW))
  })

  it("are withdrawn if they were, or if they can never sign", () => {
    assert.deepStrictEqual([oldest, pending, compromised, neverSigned].map(isWithdrawn), [
      false,
      false,
      true,
      true
    ])
  })
})
