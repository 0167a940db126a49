import { assert, describe, it } from "@effect/vitest"
import { p256 } from "@noble/curves/nist.js"
import * as Schema from "effect/Schema"
import { byteVectors } from "../../test/ByteVectors.ts"
import { jwkThumbprint } from "./JwkThumbprint.ts"
import { JsonWebKeyEs256, KeySet, publicKeyToJwk } from "./KeySet.ts"

const keySet = byteVectors.evidence.key_set
const key = keySet.keys[0]!
const decode = Schema.decodeUnknownSync(KeySet, { onExcessProperty: "error" })

describe("the JWK thumbprint of a signing key (part 7)", () => {
  it("is the kid of the vector's key", () => assert.strictEqual(jwkThumbprint(key), key.kid))
})

describe("the JWK of a public key (part 7)", () => {
  it("has exactly the seven published members, in their order", () => {
    const point = Buffer.concat([
      Buffer.of(4),
      Buffer.from(key.x, "base64url"),
      Buffer.from(key.y, "base64url")
    ])
    const jwk = publicKeyToJwk(new Uint8Array(point))
    assert.deepStrictEqual(jwk, key)
    assert.deepStrictEqual(Object.keys(jwk), ["kty", "crv", "use", "alg", "kid", "x", "y"])
  })

  it.each([
    ["x", 379, 1],
    ["y", 43, 33]
  ] as const)("keeps a leading zero byte of %s", (name, scalar, position) => {
    const secretKey = new Uint8Array(32)
    new DataView(secretKey.buffer).setUint16(30, scalar)
    const point = p256.getPublicKey(secretKey, false)
    assert.strictEqual(point[position], 0)
    assert.deepStrictEqual(
      Buffer.from(publicKeyToJwk(point)[name], "base64url"),
      Buffer.from(point.subarray(position, position + 32))
    )
  })

  it("is refused for anything but an uncompressed point", () => {
    for (const bytes of [new Uint8Array(65), p256.getPublicKey(new Uint8Array(32).fill(1), true)]) {
      assert.throws(() => publicKeyToJwk(bytes), RangeError)
    }
  })
})

describe("the schema of the key set (part 7)", () => {
  it("decodes the vector's set", () => assert.deepStrictEqual(decode(keySet), keySet))

  it("refuses a key with a private or any other additional member", () => {
    for (const extra of [{ d: key.x }, { key_ops: ["verify"] }, { x5c: [] }]) {
      assert.throws(() => decode({ keys: [{ ...key, ...extra }] }))
    }
  })

  it("refuses a key of another kind", () => {
    const changes = [
      { kty: "RSA" },
      { crv: "secp256k1" },
      { use: "enc" },
      { alg: "ES256K" },
      { kid: 1 },
      { x: `${key.x}=` },
      { y: key.y.slice(1) }
    ]
    for (const change of changes) assert.isFalse(Schema.is(JsonWebKeyEs256)({ ...key, ...change }))
  })
})
