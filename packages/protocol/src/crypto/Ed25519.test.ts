import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { ed25519 } from "@noble/curves/ed25519.js"
import { isEd25519PublicKey } from "./Ed25519.ts"

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"))

const SMALL = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"

/** The points of small order, and encodings that are not the one of their point (RFC 7748 section 7, Wycheproof). */
const WEAK: ReadonlyArray<readonly [name: string, hex: string]> = [
  ["order 1", `01${"00".repeat(31)}`],
  ["order 2", `ec${"ff".repeat(30)}7f`],
  ["order 4", "00".repeat(32)],
  ["order 4, negative", `${"00".repeat(31)}80`],
  ["order 8", SMALL],
  ["order 8, negative", `${SMALL.slice(0, -2)}fa`],
  ["order 8, the other", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"],
  ["order 8, the other negative", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"],
  ["y = p", `ed${"ff".repeat(30)}7f`],
  ["y = p + 1", `ee${"ff".repeat(30)}7f`],
  ["y = 2^255 - 1", "ff".repeat(32)],
  ["no point", `02${"00".repeat(31)}`]
]

describe("isEd25519PublicKey", () => {
  it("accepts the public key of a key pair", () => {
    const { publicKey } = generateKeyPairSync("ed25519")
    const { x = "" } = publicKey.export({ format: "jwk" })
    assert.isTrue(isEd25519PublicKey(new Uint8Array(Buffer.from(x, "base64url"))))
  })

  for (const [name, hex] of WEAK) {
    it(`refuses ${name}`, () => assert.isFalse(isEd25519PublicKey(bytesOf(hex))))
  }

  it("refuses the sum of a key and a point of small order", () => {
    const mixed = ed25519.Point.BASE.add(ed25519.Point.fromHex(SMALL)).toBytes()
    assert.isFalse(isEd25519PublicKey(mixed))
  })

  it("refuses a key of another length", () => {
    for (const length of [0, 31, 33]) assert.isFalse(isEd25519PublicKey(new Uint8Array(length).fill(3)))
  })
})
