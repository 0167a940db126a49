import { p256 } from "@noble/curves/nist.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { Signer } from "@svc/domain/ports/Signer"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { Effect, Layer, type Redacted } from "effect"
import {
  type BeginSignature,
  type PrivateJwk,
  privateJwkOf,
  type SigningKeyInvalid,
  type SigningKeys,
  signerOfKeys
} from "./SigningKey.ts"

const implement = (jwk: PrivateJwk): BeginSignature => {
  const scalar = decodeBase64Url(jwk.d)!
  return () => {
    const hash = sha256.create()
    return {
      update: (piece) => {
        hash.update(piece)
      },
      finish: () => p256.sign(hash.digest(), scalar, { prehash: false, lowS: true, format: "compact" })
    }
  }
}

const generateSigningKey: Effect.Effect<Redacted.Redacted<PrivateJwk>> = Effect.sync(() => {
  const { secretKey } = p256.keygen()
  return privateJwkOf(secretKey, p256.getPublicKey(secretKey, false))
})

/** A signer in pure JavaScript, for runtimes without `node:crypto`; several times slower. */
export const layerFromKeys = (keys: SigningKeys): Layer.Layer<Signer, SigningKeyInvalid> =>
  Layer.effect(Signer, signerOfKeys(keys, implement))

/** A signer with a new key that is never stored, for tests and development. */
export const layerEphemeral: Layer.Layer<Signer> = Layer.effect(
  Signer,
  generateSigningKey.pipe(
    Effect.flatMap((signing) => signerOfKeys({ signing, published: [] }, implement)),
    Effect.orDie
  )
)
