import { type SealBroken, SecretSealer, signingKeyContext } from "@svc/domain/ports/SecretSealer"
import type { NewSigningKey, SigningKeyRecord } from "@svc/domain/ports/SigningKeyRecords"
import { Effect, Redacted } from "effect"
import { generateSigningKey, signingKey } from "./SignerNodeCrypto.ts"
import { type PrivateJwk, type SigningKey, SigningKeyInvalid } from "./SigningKey.ts"

/** Generates a signing key and seals its private half for the row of its `kid`. */
export const makeSigningKey: Effect.Effect<NewSigningKey, SigningKeyInvalid, SecretSealer> = Effect.gen(
  function* () {
    const sealer = yield* SecretSealer
    const jwk = yield* generateSigningKey
    const { published } = yield* signingKey(jwk)
    const secret = Redacted.make(JSON.stringify(Redacted.value(jwk)), { label: "signing key" })
    return { publicJwk: published, sealed: yield* sealer.seal(signingKeyContext(published.kid), secret) }
  }
)

/** Opens a stored key, and checks that the sealed half belongs to the published one. */
export const openSigningKey = Effect.fnUntraced(function* ({
  publicJwk,
  sealed
}: SigningKeyRecord): Effect.fn.Return<SigningKey, SealBroken | SigningKeyInvalid, SecretSealer> {
  const sealer = yield* SecretSealer
  if (sealed === undefined) {
    return yield* new SigningKeyInvalid({ detail: "the private half of the signing key is gone" })
  }
  const secret = yield* sealer.open(signingKeyContext(publicJwk.kid), sealed)
  const jwk = Redacted.make(JSON.parse(Redacted.value(secret)) as PrivateJwk, { label: "signing key" })
  const key = yield* signingKey(jwk)
  if (key.published.kid === publicJwk.kid) return key
  return yield* new SigningKeyInvalid({ detail: "the signing key is not the one that is published" })
})
