import { createPrivateKey, createSign, generateKeyPairSync } from "node:crypto"
import { Signer } from "@svc/domain/ports/Signer"
import { Effect, Layer, Redacted } from "effect"
import { toLowS } from "./LowS.ts"
import {
  type BeginSignature,
  type PrivateJwk,
  readSigningKey,
  type SigningKey,
  type SigningKeyInvalid,
  type SigningKeys,
  signerOfKeys
} from "./SigningKey.ts"

const implement = (jwk: PrivateJwk): BeginSignature => {
  const key = createPrivateKey({ key: { ...jwk }, format: "jwk" })
  return () => {
    const sign = createSign("sha256")
    return {
      update: (piece) => {
        sign.update(piece)
      },
      finish: () => toLowS(new Uint8Array(sign.sign({ key, dsaEncoding: "ieee-p1363" })))
    }
  }
}

/** Prepares a private key for signing. */
export const signingKey = (
  jwk: Redacted.Redacted<PrivateJwk>
): Effect.Effect<SigningKey, SigningKeyInvalid> => readSigningKey(jwk, implement)

/** Generates a private key. */
export const generateSigningKey: Effect.Effect<Redacted.Redacted<PrivateJwk>> = Effect.sync(() => {
  const { x, y, d } = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" })
  return Redacted.make({ kty: "EC", crv: "P-256", x: x!, y: y!, d: d! }, { label: "signing key" })
})

/** A signer with fixed keys, on `node:crypto`. */
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
