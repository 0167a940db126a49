import { createPublicKey, verify } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Signer } from "@svc/domain/ports/Signer"
import { verifyP256 } from "@svc/protocol/crypto/P256"
import { signerSuite } from "@svc/testkit/SignerSuite"
import { Effect, Redacted } from "effect"
import { isLowS, P256_ORDER, toLowS } from "./LowS.ts"
import * as SignerNoble from "./SignerNoble.ts"
import * as SignerNodeCrypto from "./SignerNodeCrypto.ts"
import { generateSigningKey, layerEphemeral, layerFromKeys, signingKey } from "./SignerNodeCrypto.ts"
import { SigningKeyInvalid } from "./SigningKey.ts"

signerSuite("node:crypto", layerEphemeral)

const publicKeyOf = Effect.fnUntraced(function* () {
  return (yield* signingKey(yield* generateSigningKey)).published
})

describe("SignerNodeCrypto", () => {
  it.effect("publishes previous and next keys besides the signing one, without repetition (part 7)", () =>
    Effect.gen(function* () {
      const signing = yield* generateSigningKey
      const own = (yield* signingKey(signing)).published
      const [retired, next] = [yield* publicKeyOf(), yield* publicKeyOf()]
      const layer = layerFromKeys({ signing, published: [retired, own, next] })
      const { keys } = yield* Signer.use((signer) => signer.keySet).pipe(Effect.provide(layer))
      assert.deepStrictEqual(
        keys.map((key) => key.kid),
        [own.kid, retired.kid, next.kid]
      )
    })
  )

  const refusal = (keys: Parameters<typeof layerFromKeys>[0]) =>
    Signer.use((signer) => signer.keySet).pipe(Effect.provide(layerFromKeys(keys)), Effect.flip)

  it.effect("refuses a published key with a private member, another kid or a point off the curve", () =>
    Effect.gen(function* () {
      const signing = yield* generateSigningKey
      const key = yield* publicKeyOf()
      const faulty = [
        { ...key, d: Redacted.value(signing).d },
        { ...key, kid: "k1" },
        { ...key, x: key.y, y: key.x },
        { ...key, x: `${key.x}=` }
      ]
      for (const published of faulty) {
        const refused = yield* refusal({ signing, published: [published] })
        assert.instanceOf(refused, SigningKeyInvalid)
        assert.notInclude(JSON.stringify(refused), Redacted.value(signing).d)
      }
    })
  )

  it.effect("refuses a private key whose halves do not match, with both implementations", () =>
    Effect.gen(function* () {
      const [one, other] = [
        Redacted.value(yield* generateSigningKey),
        Redacted.value(yield* generateSigningKey)
      ]
      const faulty = [
        { ...one, d: other.d },
        { ...one, d: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
        { ...one, d: `${one.d}=` },
        { ...one, x: one.y, y: one.x }
      ]
      for (const jwk of faulty) {
        for (const implementation of [SignerNodeCrypto, SignerNoble]) {
          const layer = implementation.layerFromKeys({ signing: Redacted.make(jwk), published: [] })
          const refused = yield* Signer.use((signer) => signer.keySet).pipe(
            Effect.provide(layer),
            Effect.flip
          )
          assert.instanceOf(refused, SigningKeyInvalid)
        }
      }
    })
  )

  it.effect("signs what node:crypto verifies, with both implementations", () =>
    Effect.gen(function* () {
      const signing = yield* generateSigningKey
      const { published } = yield* signingKey(signing)
      const key = createPublicKey({ key: { ...published }, format: "jwk" })
      for (const implementation of [SignerNodeCrypto, SignerNoble]) {
        const layer = implementation.layerFromKeys({ signing, published: [] })
        const current = yield* Signer.use((signer) => signer.current).pipe(Effect.provide(layer))
        assert.strictEqual(current.kid, published.kid)
        for (let number = 0; number < 500; number++) {
          const data = new TextEncoder().encode(`message ${number}`)
          const signing = current.begin()
          signing.update(data)
          const signature = yield* signing.signature
          assert.strictEqual(signature.length, 64)
          assert.isTrue(isLowS(signature))
          assert.isTrue(verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, signature))
        }
      }
    })
  )

  it.effect("shows no private key when printed", () =>
    Effect.gen(function* () {
      const signing = yield* generateSigningKey
      const { d } = Redacted.value(signing)
      assert.notInclude(String(signing), d)
      assert.notInclude(JSON.stringify({ signing }), d)
    })
  )
})

describe("toLowS", () => {
  const withS = (s: bigint): Uint8Array => {
    const signature = new Uint8Array(64).fill(7, 0, 32)
    signature.set(Buffer.from(s.toString(16).padStart(64, "0"), "hex"), 32)
    return signature
  }
  const half = P256_ORDER >> 1n

  it("keeps s up to half the order and negates it above", () => {
    assert.deepStrictEqual(toLowS(withS(1n)), withS(1n))
    assert.deepStrictEqual(toLowS(withS(half)), withS(half))
    assert.deepStrictEqual(toLowS(withS(half + 1n)), withS(half))
    assert.deepStrictEqual(toLowS(withS(P256_ORDER - 1n)), withS(1n))
    assert.isTrue(isLowS(withS(half)))
    assert.isFalse(isLowS(withS(half + 1n)))
  })

  it.effect("returns a signature that still verifies, as does its negation", () =>
    Effect.gen(function* () {
      const { begin, published } = yield* signingKey(yield* generateSigningKey)
      const publicKey = Buffer.concat([
        Buffer.from([4]),
        Buffer.from(published.x, "base64url"),
        Buffer.from(published.y, "base64url")
      ])
      const data = new Uint8Array([1, 2, 3])
      const signing = begin()
      signing.update(data)
      const signature = yield* signing.signature
      const s = BigInt(`0x${Buffer.from(signature.subarray(32)).toString("hex")}`)
      const mirrored = withS(P256_ORDER - s)
      mirrored.set(signature.subarray(0, 32))
      assert.isTrue(verifyP256({ publicKey, signature: mirrored, data }))
      assert.deepStrictEqual(toLowS(mirrored), signature)
    })
  )
})
