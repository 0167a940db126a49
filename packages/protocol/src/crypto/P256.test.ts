import { assert, describe, it } from "@effect/vitest"
import { p256 } from "@noble/curves/nist.js"
import { hexToBytes } from "@noble/hashes/utils.js"
import { hasVectors, readVectorJson } from "../../test/PublicVectors.ts"
import { isP256PublicKey, verifyP256 } from "./P256.ts"

const WYCHEPROOF = "wycheproof/ecdsa_secp256r1_sha256_p1363_test.json"

interface Wycheproof {
  readonly numberOfTests: number
  readonly testGroups: ReadonlyArray<{
    readonly publicKey: { readonly uncompressed: string }
    readonly tests: ReadonlyArray<{
      readonly tcId: number
      readonly comment: string
      readonly msg: string
      readonly sig: string
      readonly result: "valid" | "invalid"
    }>
  }>
}

describe.skipIf(!hasVectors(WYCHEPROOF))("ECDSA P-256 verification", () => {
  it("agrees with every Wycheproof case", () => {
    const { numberOfTests, testGroups } = readVectorJson<Wycheproof>(WYCHEPROOF)
    let seen = 0
    for (const { publicKey, tests } of testGroups) {
      for (const { tcId, comment, msg, sig, result } of tests) {
        const valid = verifyP256({
          publicKey: hexToBytes(publicKey.uncompressed),
          signature: hexToBytes(sig),
          data: hexToBytes(msg)
        })
        assert.strictEqual(valid, result === "valid", `case ${tcId}: ${comment}`)
        seen++
      }
    }
    assert.strictEqual(seen, numberOfTests)
  })
})

const secretKey = new Uint8Array(32).fill(9)
const publicKey = p256.getPublicKey(secretKey, false)
const data = new TextEncoder().encode("data")
const signature = p256.sign(data, secretKey)

describe("verifyP256", () => {
  it("accepts a low and a high s", () => {
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).toString("hex")}`)
    const twin = (p256.Point.CURVE().n - s).toString(16).padStart(64, "0")
    const highS = Uint8Array.from([...signature.subarray(0, 32), ...hexToBytes(twin)])
    assert.isTrue(verifyP256({ publicKey, signature, data }))
    assert.isTrue(verifyP256({ publicKey, signature: highS, data }))
  })

  it("returns false, without throwing, for other lengths, forms and points", () => {
    const der = p256.sign(data, secretKey, { format: "der" })
    const signatures = [signature.subarray(0, 63), Uint8Array.of(...signature, 0), der, new Uint8Array(0)]
    for (const other of signatures) assert.isFalse(verifyP256({ publicKey, signature: other, data }))
    const offCurve = publicKey.slice()
    offCurve[64]! ^= 1
    const keys = [
      p256.getPublicKey(secretKey, true),
      offCurve,
      publicKey.subarray(0, 64),
      Uint8Array.of(...publicKey, 0),
      Uint8Array.of(4, ...new Uint8Array(64)),
      Uint8Array.of(0),
      new Uint8Array(65).fill(0xff)
    ]
    for (const key of keys) {
      assert.isFalse(isP256PublicKey(key))
      assert.isFalse(verifyP256({ publicKey: key, signature, data }))
    }
  })

  it("returns false for other data", () => {
    assert.isFalse(verifyP256({ publicKey, signature, data: new TextEncoder().encode("date") }))
  })
})
