import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import * as Identifier from "./Identifier.ts"
import { formatIdentifier, type IdentifierPrefix, isIdentifier } from "./Identifier.ts"

const SCHEMAS = {
  org_: Identifier.OrganizationId,
  mnd_: Identifier.MandateId,
  aut_: Identifier.AuthorizationId,
  aps_: Identifier.ApprovalSessionId,
  evt_: Identifier.EventId,
  whe_: Identifier.WebhookEndpointId,
  dlv_: Identifier.DeliveryId,
  key_: Identifier.ApiKeyId,
  psk_: Identifier.PasskeyId
} as const
const prefixes = Object.keys(SCHEMAS) as ReadonlyArray<IdentifierPrefix>

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const random = fc.uint8Array({ minLength: 10, maxLength: 10 })

describe("a new identifier (part 1)", () => {
  it("encodes time and randomness as a ULID does", () => {
    const zero = new Uint8Array(10)
    const ones = new Uint8Array(10).fill(0xff)
    assert.strictEqual(formatIdentifier("mnd_", 0, zero), `mnd_${"0".repeat(26)}`)
    assert.strictEqual(formatIdentifier("mnd_", 2 ** 48 - 1, ones), `mnd_7${"z".repeat(25)}`)
    // The time parts of two well-known examples of ULIDs.
    assert.strictEqual(formatIdentifier("evt_", 1_469_922_850_259, zero), `evt_01arz3ndek${"0".repeat(16)}`)
    assert.strictEqual(formatIdentifier("evt_", 1_469_918_176_385, zero), `evt_01aryz6s41${"0".repeat(16)}`)
  })

  it("is the 128 bits of time and randomness in base 32, by the digits of one large number", () => {
    const crockford = "0123456789abcdefghjkmnpqrstvwxyz"
    fc.assert(
      fc.property(time, random, (milliseconds, bytes) => {
        const bits = bytes.reduce((high, byte) => high * 256n + BigInt(byte), BigInt(milliseconds))
        // In base 32 a digit is one of 0 to 9 and a to v, in the order of the alphabet.
        const digits = [...bits.toString(32).padStart(26, "0")].map((digit) => Number.parseInt(digit, 32))
        const text = digits.map((digit) => crockford[digit]).join("")
        assert.strictEqual(formatIdentifier("aut_", milliseconds, bytes), `aut_${text}`)
      })
    )
  })

  it("has the form of its own prefix and of no other", () => {
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), time, random, (prefix, milliseconds, bytes) => {
        const text = formatIdentifier(prefix, milliseconds, bytes)
        assert.strictEqual(text.length, 30)
        for (const other of prefixes) {
          assert.strictEqual(isIdentifier(other, text), other === prefix)
          assert.strictEqual(Schema.is(SCHEMAS[other])(text), other === prefix)
        }
      })
    )
  })

  it("sorts by time, and within a millisecond by the random bytes", () => {
    fc.assert(
      fc.property(time, random, time, random, (time1, random1, time2, random2) => {
        const left = formatIdentifier("evt_", time1, random1)
        const right = formatIdentifier("evt_", time2, random2)
        const order = time1 - time2 || Buffer.compare(random1, random2)
        assert.strictEqual(Math.sign(order), left < right ? -1 : left > right ? 1 : 0)
      })
    )
  })

  it("is refused for a time or randomness that does not fit", () => {
    const bytes = new Uint8Array(10)
    for (const milliseconds of [-1, 0.5, 2 ** 48, Number.NaN]) {
      assert.throws(() => formatIdentifier("mnd_", milliseconds, bytes), RangeError)
    }
    for (const length of [0, 9, 11]) {
      assert.throws(() => formatIdentifier("mnd_", 0, new Uint8Array(length)), RangeError)
    }
  })
})

describe("the form of an identifier (part 1)", () => {
  it.each([
    "aps_01jdxxxxxxxxxxxxxxxxxxxxxx",
    "aps_00000000000000000000000000",
    "aps_zzzzzzzzzzzzzzzzzzzzzzzzzz"
  ])("is that of %s", (text) => assert.isTrue(isIdentifier("aps_", text)))

  it.each([
    "mnd_01jdxxxxxxxxxxxxxxxxxxxxxx",
    "aps_01jdxxxxxxxxxxxxxxxxxxxxx",
    "aps_01jdxxxxxxxxxxxxxxxxxxxxxxx",
    "aps_01JDXXXXXXXXXXXXXXXXXXXXXX",
    "aps_01jdxxxxxxxxxxxxxxxxxxxxxi",
    "aps_01jdxxxxxxxxxxxxxxxxxxxxxl",
    "aps_01jdxxxxxxxxxxxxxxxxxxxxxo",
    "aps_01jdxxxxxxxxxxxxxxxxxxxxxu",
    "aps_01jdxxxxxxxxxxxxxxxxxxxxxx\n",
    " aps_01jdxxxxxxxxxxxxxxxxxxxxxx",
    "aps_aps_01jdxxxxxxxxxxxxxxxxxx",
    "APS_01jdxxxxxxxxxxxxxxxxxxxxxx",
    "aps_",
    ""
  ])("is not that of %j", (text) => {
    assert.isFalse(isIdentifier("aps_", text))
    assert.isFalse(Schema.is(Identifier.ApprovalSessionId)(text))
  })
})
