import { assert, describe, it } from "@effect/vitest"
import { Signer } from "@svc/domain/ports/Signer"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { evidenceSigningInput, verifyEvidence } from "@svc/protocol/evidence/EvidenceEnvelope"
import { jwkThumbprint } from "@svc/protocol/evidence/JwkThumbprint"
import { EVIDENCE_FORMAT } from "@svc/protocol/evidence/ReadEnvelope"
import { Effect, type Layer, Result } from "effect"

/** How many signatures are looked at: enough that r or s begins with a zero byte in some of them. */
const SIGNATURES = 500

const SIGNATURE_BYTES = 64
const SIGNATURE_CHARACTERS = 86
const S_OFFSET = 32
const HALF_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n >> 1n

const toBigInt = (bytes: Uint8Array): bigint =>
  bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)

const payloadText = (number: number): string => JSON.stringify({ schema: EVIDENCE_FORMAT, number })

const payloadOf = (number: number): string => encodeBase64Url(new TextEncoder().encode(payloadText(number)))

/** Signs a small evidence envelope; `number` makes it another one. */
const signEvidence = (number: number) =>
  Effect.gen(function* () {
    const { kid, begin } = yield* (yield* Signer).current
    const payload = payloadOf(number)
    const input = evidenceSigningInput({ kid, payload })
    const signing = begin()
    // Pieces of any length, an empty one too.
    const cut = number % input.bytes.length
    signing.update(input.bytes.subarray(0, cut))
    signing.update(input.bytes.subarray(cut))
    const signature = yield* signing.signature
    const envelope = {
      format: EVIDENCE_FORMAT,
      protected: input.protected,
      payload,
      signature: encodeBase64Url(signature)
    }
    return { kid, bytes: input.bytes, signature, envelope }
  })

/**
 * What every `Signer` keeps (part 7): ES256 in 64 bytes, low-S, by a key of the key set, whose members
 * are exactly the seven public ones. Signatures are checked by the protocol's own verifier and by Web
 * Crypto. `layer` must be able to sign; one that asks over a network may
 * make fewer `signatures`.
 */
export const signerSuite = (
  name: string,
  layer: Layer.Layer<Signer, unknown>,
  signatures = SIGNATURES
): void => {
  describe(`Signer: ${name}`, () => {
    it.effect(`signs ${signatures} envelopes in 64 bytes, low-S, that verify as evidence`, () =>
      Effect.gen(function* () {
        const keySet = yield* (yield* Signer).keySet
        const seen = new Set<string>()
        for (let number = 0; number < signatures; number++) {
          const { kid, signature, envelope } = yield* signEvidence(number)
          assert.strictEqual(signature.length, SIGNATURE_BYTES)
          assert.strictEqual(envelope.signature.length, SIGNATURE_CHARACTERS)
          assert.isTrue(toBigInt(signature.subarray(S_OFFSET)) <= HALF_ORDER, "s is low")
          const verified = Result.getOrThrow(verifyEvidence(envelope, keySet))
          assert.strictEqual(verified.kid, kid)
          assert.strictEqual(verified.payloadText, payloadText(number))
          seen.add(envelope.signature)
        }
        assert.strictEqual(seen.size, signatures)
      }).pipe(Effect.provide(layer))
    )

    it.effect("signs what another implementation of ECDSA verifies", () =>
      Effect.gen(function* () {
        const { keys } = yield* (yield* Signer).keySet
        const { kid, bytes, signature } = yield* signEvidence(0)
        const jwk = { ...keys.find((key) => key.kid === kid)! }
        const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
        const verifies = yield* Effect.promise(async () => {
          const key = await crypto.subtle.importKey("jwk", jwk, algorithm, false, ["verify"])
          return crypto.subtle.verify(algorithm, key, Uint8Array.from(signature), Uint8Array.from(bytes))
        })
        assert.isTrue(verifies)
      }).pipe(Effect.provide(layer))
    )

    it.effect("refuses to verify other bytes, or under another kid", () =>
      Effect.gen(function* () {
        const keySet = yield* (yield* Signer).keySet
        const { kid, envelope } = yield* signEvidence(1)
        const moved = { ...envelope, payload: payloadOf(2) }
        assert.isTrue(Result.isFailure(verifyEvidence(moved, keySet)))
        const renamed = evidenceSigningInput({ kid: `${kid}x`, payload: payloadOf(1) })
        assert.isTrue(Result.isFailure(verifyEvidence({ ...envelope, protected: renamed.protected }, keySet)))
      }).pipe(Effect.provide(layer))
    )

    it.effect("publishes exactly kty, crv, use, alg, kid, x and y, the kid being the thumbprint", () =>
      Effect.gen(function* () {
        const signer = yield* Signer
        const { keys } = yield* signer.keySet
        const { kid } = yield* signer.current
        assert.strictEqual(keys.filter((key) => key.kid === kid).length, 1)
        for (const key of keys) {
          assert.deepStrictEqual(Object.keys(key).sort(), ["alg", "crv", "kid", "kty", "use", "x", "y"])
          assert.deepStrictEqual([key.kty, key.crv, key.use, key.alg], ["EC", "P-256", "sig", "ES256"])
          assert.strictEqual(key.kid, jwkThumbprint(key))
          assert.strictEqual(decodeBase64Url(key.x)?.length, S_OFFSET)
          assert.strictEqual(decodeBase64Url(key.y)?.length, S_OFFSET)
        }
      }).pipe(Effect.provide(layer))
    )
  })
}
