import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { BASE64URL_OF_32_BYTES, decodeBase64Url, encodeBase64Url, isBase64Url } from "./Base64Url.ts"

describe("base64url (part 1)", () => {
  it("agrees with the vectors of RFC 4648 section 10, less padding", () => {
    const vectors = {
      "": "",
      f: "Zg",
      fo: "Zm8",
      foo: "Zm9v",
      foob: "Zm9vYg",
      fooba: "Zm9vYmE",
      foobar: "Zm9vYmFy"
    }
    for (const [plain, text] of Object.entries(vectors)) {
      assert.strictEqual(encodeBase64Url(new TextEncoder().encode(plain)), text)
      assert.strictEqual(new TextDecoder().decode(decodeBase64Url(text)), plain)
    }
  })

  it("writes - and _ for the last two values", () => {
    assert.strictEqual(encodeBase64Url(Uint8Array.of(0xfb, 0xef, 0xff)), "--__")
    assert.deepStrictEqual(decodeBase64Url("--__"), Uint8Array.of(0xfb, 0xef, 0xff))
  })

  it("encodes any bytes as the platform does, and decodes them again", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const text = encodeBase64Url(bytes)
        assert.strictEqual(text, Buffer.from(bytes).toString("base64url"))
        assert.isTrue(isBase64Url(text))
        assert.deepStrictEqual(decodeBase64Url(text), bytes)
      })
    )
  })

  it.each([
    "A",
    "AAAAA",
    "AA==",
    "AAA=",
    "=",
    "A+",
    "A/AA",
    "AA A",
    "AAAA\n",
    " AAAA",
    "AA.A",
    "AAé",
    "AA\u0000A",
    "AA\u0080A"
  ])("refuses to decode %j", (text) => {
    assert.isUndefined(decodeBase64Url(text))
    assert.isFalse(isBase64Url(text))
  })

  it("accepts only last characters whose unused bits are zero", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    const accepted = (head: string) => [...alphabet].filter((last) => isBase64Url(head + last)).join("")
    assert.strictEqual(accepted("A"), "AQgw")
    assert.strictEqual(accepted("AA"), "AEIMQUYcgkosw048")
    assert.strictEqual(accepted("AAA"), alphabet)
  })

  it("decodes exactly the texts that encoding produces", () => {
    const text = fc.string({
      unit: fc.constantFrom(..."ABQgw048-_+/= "),
      maxLength: 9
    })
    fc.assert(
      fc.property(text, (candidate) => {
        const bytes = decodeBase64Url(candidate)
        assert.strictEqual(bytes !== undefined, isBase64Url(candidate))
        if (bytes !== undefined) assert.strictEqual(encodeBase64Url(bytes), candidate)
      })
    )
  })

  it("has exactly one form for 32 bytes", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for (const last of alphabet) {
      const text = "A".repeat(42) + last
      assert.strictEqual(BASE64URL_OF_32_BYTES.test(text), isBase64Url(text))
    }
    assert.isFalse(BASE64URL_OF_32_BYTES.test("A".repeat(42)))
    assert.isFalse(BASE64URL_OF_32_BYTES.test(`${"A".repeat(43)}\n`))
  })
})
