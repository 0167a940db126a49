import { assert, describe, it } from "@effect/vitest"
import { bytesToHex } from "@noble/hashes/utils.js"
import * as fc from "fast-check"
import { decodeBase64Url, encodeBase64Url } from "../Base64Url.ts"
import * as chosen from "./Sha256.ts"
import * as noble from "./sha256/Sha256Noble.ts"
import * as nodeCrypto from "./sha256/Sha256NodeCrypto.ts"

/** Both have one type, so that either may stand for the other. */
const IMPLEMENTATIONS: Readonly<Record<string, typeof noble & typeof nodeCrypto>> = { noble, nodeCrypto }

/** The examples of FIPS 180-4 and the additional ones that NIST publishes beside them (SHA2_Additional). */
const EXAMPLES: ReadonlyArray<readonly [name: string, content: string | Uint8Array, hash: string]> = [
  ["nothing", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["one block", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "two blocks",
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
  ],
  [
    "896 bits",
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
  ],
  ["a million a", "a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"],
  ["bd", Uint8Array.of(0xbd), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"],
  [
    "c98c8e55",
    Uint8Array.of(0xc9, 0x8c, 0x8e, 0x55),
    "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"
  ],
  ["55 zeros", new Uint8Array(55), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"],
  ["56 zeros", new Uint8Array(56), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"],
  ["57 zeros", new Uint8Array(57), "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"],
  ["64 zeros", new Uint8Array(64), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"],
  ["1000 zeros", new Uint8Array(1000), "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"],
  ["1000 A", "A".repeat(1000), "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4"],
  ["1005 U", "U".repeat(1005), "f4d62ddec0f3dd90ea1380fa16a5ff8dc4c54b21740650f24afc4120903552b0"]
]

/** Texts of any code units: characters of each length in UTF-8, and surrogates without their other half. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.oneof(fc.integer({ min: 0xd7fe, max: 0xe001 }), fc.integer({ min: 0, max: 0xffff })))
    .map((units) => String.fromCharCode(...units))
)

/** Bytes that are a part of others, as those of a pool or of a request are. */
const partOfBytes = fc
  .tuple(fc.uint8Array({ maxLength: 300 }), fc.nat(), fc.nat())
  .map(([bytes, from, length]) => bytes.subarray(from % (bytes.length + 1)).subarray(0, length % 301))

const utf8 = new TextEncoder()

describe.each(Object.entries(IMPLEMENTATIONS))("SHA-256 by %s", (_, { sha256, sha256Base64Url }) => {
  it.each(EXAMPLES)("agrees with NIST on %s", (_name, content, hash) => {
    assert.strictEqual(bytesToHex(sha256(content)), hash)
    assert.strictEqual(sha256Base64Url(content), encodeBase64Url(sha256(content)))
  })

  it("takes the other half of a surrogate for U+FFFD, wherever it is missing", () => {
    for (const [text, read] of [
      ["\ud800", "\ufffd"],
      ["a\udfffb", "a\ufffdb"],
      ["\udc00\ud800", "\ufffd\ufffd"],
      ["é\ud83d\ud83d\ude00", "é\ufffd\u{1f600}"]
    ] as const) {
      assert.strictEqual(sha256Base64Url(text), sha256Base64Url(utf8.encode(read)))
    }
  })

  it("gives plain bytes that are nobody else's", () => {
    const hash = sha256("abc")
    assert.strictEqual(Object.getPrototypeOf(hash), Uint8Array.prototype)
    assert.strictEqual(hash.buffer.byteLength, 32)
    hash.fill(0)
    assert.notDeepEqual(sha256("abc"), hash)
  })
})

describe("SHA-256", () => {
  it("is the same by each implementation, of bytes that are a part of others", () => {
    fc.assert(
      fc.property(partOfBytes, (bytes) => {
        const expected = noble.sha256(Uint8Array.from(bytes))
        for (const { sha256, sha256Base64Url } of Object.values(IMPLEMENTATIONS)) {
          assert.deepStrictEqual(sha256(bytes), expected)
          assert.deepStrictEqual(decodeBase64Url(sha256Base64Url(bytes)), expected)
        }
      })
    )
  })

  it("is the same by each implementation, of any text and of its UTF-8", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const expected = noble.sha256(utf8.encode(text))
        for (const { sha256, sha256Base64Url } of Object.values(IMPLEMENTATIONS)) {
          assert.deepStrictEqual(sha256(text), expected)
          assert.deepStrictEqual(decodeBase64Url(sha256Base64Url(text)), expected)
        }
      })
    )
  })

  it("is Node's own on Node", () => {
    assert.strictEqual(chosen.sha256, nodeCrypto.sha256)
    assert.strictEqual(chosen.sha256Base64Url, nodeCrypto.sha256Base64Url)
  })
})
