import { generateKeyPairSync, sign, verify } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { rawEcdsaSignature } from "./EcdsaSignature.ts"

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"))
const filled = (byte: string) => byte.repeat(32)

describe("rawEcdsaSignature", () => {
  it("takes every signature that OpenSSL makes, and none of its bytes missing or added", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    for (let round = 0; round < 300; round++) {
      const signature = new Uint8Array(sign("sha256", Buffer.from([round]), privateKey))
      const raw = rawEcdsaSignature(signature)
      assert.isDefined(raw)
      const key = { key: publicKey, dsaEncoding: "ieee-p1363" } as const
      assert.isTrue(verify("sha256", Buffer.from([round]), key, raw))
      assert.isUndefined(rawEcdsaSignature(signature.subarray(0, -1)))
      assert.isUndefined(rawEcdsaSignature(Uint8Array.from([...signature, 0])))
    }
  })

  it.each([
    ["30 06 02 01 01 02 01 01", true, "the smallest"],
    ["30 08 02 02 00 80 02 02 00 ff", true, "integers that need their zero byte"],
    [`30 46 02 21 00 ${filled("ff")} 02 21 00 ${filled("ff")}`, true, "256 bits each"],
    ["30 07 02 02 00 01 02 01 01", false, "a needless zero byte in r"],
    ["30 07 02 01 01 02 02 00 01", false, "a needless zero byte in s"],
    ["30 06 02 01 81 02 01 01", false, "a negative r"],
    ["30 06 02 01 00 02 01 01", false, "r is zero"],
    ["30 81 06 02 01 01 02 01 01", false, "a long length"],
    ["30 80 02 01 01 02 01 01 00 00", false, "an indefinite length"],
    ["30 07 02 81 01 01 02 01 01", false, "a long length within"],
    ["30 09 02 01 01 02 01 01 02 01 01", false, "a third integer"],
    ["31 06 02 01 01 02 01 01", false, "a set"],
    ["30 06 04 01 01 02 01 01", false, "an octet string"],
    ["30 05 02 00 02 01 01", false, "an integer without bytes"],
    [`30 26 02 21 01 ${filled("00")} 02 01 01`, false, "257 bits"],
    ["30 03 02 01 01", false, "r alone"],
    ["30 06 02 01 01 02 02 01", false, "an s that ends before its length"],
    ["30 07 02 01 01 02 01 01", false, "a length of more than there is"],
    ["30 05 02 01 01 02 01 01", false, "a length of less than there is"],
    ["", false, "nothing"],
    [`${filled("11")} ${filled("22")}`, false, "r then s without DER"]
  ])("%s is %s: %s", (bytes, expected) => {
    assert.strictEqual(rawEcdsaSignature(hex(bytes)) !== undefined, expected)
  })
})
