import { createHash } from "node:crypto"
import {
  KeyManagement,
  type KeyManagementFault,
  KeyManagementRefused,
  type ManagedKeyName
} from "@svc/domain/ports/KeyManagement"
import { SignerUnavailable, type Signing } from "@svc/domain/ports/Signer"
import { P256_SIGNATURE_BYTES } from "@svc/protocol/crypto/P256"
import { type JsonWebKeyEs256, publicKeyToJwk } from "@svc/protocol/evidence/KeySet"
import { Effect } from "effect"
import { PROBE, pointOfJwk, type SigningKey } from "./SigningKey.ts"
import { verifiedSignature } from "./VerifiedSignature.ts"

/** A key management service that answers wrongly makes evidence unavailable, never wrong. */
const signVerified = Effect.fnUntraced(function* (
  { name, publicKey }: { readonly name: ManagedKeyName; readonly publicKey: Uint8Array },
  digest: Uint8Array
): Effect.fn.Return<Uint8Array, KeyManagementFault> {
  const kms = yield* KeyManagement
  const answer = yield* kms.sign(name, digest.slice())
  const signature =
    answer.length === P256_SIGNATURE_BYTES ? verifiedSignature(answer, digest, publicKey) : undefined
  return (
    signature ??
    (yield* new KeyManagementRefused({
      detail: `${name} gave a signature that does not verify with its public key`
    }))
  )
})

const signingBy = (sign: (digest: Uint8Array) => Effect.Effect<Uint8Array, KeyManagementFault>): Signing => {
  const hash = createHash("sha256")
  return {
    update: (piece) => {
      hash.update(piece)
    },
    signature: Effect.suspend(() => sign(new Uint8Array(hash.digest()))).pipe(
      Effect.mapError(({ detail }) => new SignerUnavailable({ cause: detail }))
    )
  }
}

/** Prepares a key in a key management service for signing, once a trial signature of it has been verified. */
export const managedSigningKey = Effect.fnUntraced(function* (
  name: ManagedKeyName,
  published: JsonWebKeyEs256
): Effect.fn.Return<SigningKey, KeyManagementFault> {
  const kms = yield* KeyManagement
  const publicKey = pointOfJwk(published)
  if (publicKey === undefined) return yield* new KeyManagementRefused({ detail: `${name} has no P-256 key` })
  const sign = (digest: Uint8Array) =>
    Effect.provideService(signVerified({ name, publicKey }, digest), KeyManagement, kms)
  yield* sign(new Uint8Array(createHash("sha256").update(PROBE).digest()))
  return { published, begin: () => signingBy(sign) }
})

/** The public half of a key in a key management service that signs, and the name under which it does so for good. */
export const readManagedKey = Effect.fnUntraced(function* (
  given: ManagedKeyName
): Effect.fn.Return<
  { readonly name: ManagedKeyName; readonly publicJwk: JsonWebKeyEs256 },
  KeyManagementFault
> {
  const { name, publicKey } = yield* (yield* KeyManagement).publicKey(given)
  const publicJwk = publicKeyToJwk(publicKey)
  yield* managedSigningKey(name, publicJwk)
  return { name, publicJwk }
})
