import { assert, describe, it } from "@effect/vitest"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import * as fc from "fast-check"
import { hasVectors, readVectorJson } from "../../test/PublicVectors.ts"
import { hmacSha256 } from "./HmacSha256.ts"

const WYCHEPROOF = "wycheproof/hmac_sha256_test.json"

interface Wycheproof {
  readonly numberOfTests: number
  readonly testGroups: ReadonlyArray<{
    readonly tagSize: number
    readonly tests: ReadonlyArray<{
      readonly tcId: number
      readonly key: string
      readonly msg: string
      readonly tag: string
      readonly result: "valid" | "invalid"
    }>
  }>
}

describe.skipIf(!hasVectors(WYCHEPROOF))("HMAC-SHA-256", () => {
  it("agrees with every Wycheproof case", () => {
    const { numberOfTests, testGroups } = readVectorJson<Wycheproof>(WYCHEPROOF)
    let seen = 0
    for (const { tagSize, tests } of testGroups) {
      for (const { tcId, key, msg, tag, result } of tests) {
        const mac = hmacSha256({ key: hexToBytes(key), parts: [hexToBytes(msg)] })
        const matches = bytesToHex(mac).slice(0, tagSize / 4) === tag
        assert.strictEqual(matches, result === "valid", `case ${tcId}`)
        seen++
      }
    }
    assert.strictEqual(seen, numberOfTests)
  })
})

describe("HMAC-SHA-256 of several parts", () => {
  it("equals that of their concatenation", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 4 }), (parts) => {
        const key = new Uint8Array(32).fill(7)
        const whole = Uint8Array.from(parts.flatMap((part) => [...part]))
        assert.deepStrictEqual(hmacSha256({ key, parts }), hmacSha256({ key, parts: [whole] }))
      })
    )
  })
})
