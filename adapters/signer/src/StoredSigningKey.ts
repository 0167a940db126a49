import type { KeyManagementFault, ManagedKeyName } from "@svc/domain/ports/KeyManagement"
import { type SealBroken, SecretSealer, signingKeyContext } from "@svc/domain/ports/SecretSealer"
import type { NewSigningKey, SigningKeyRecord } from "@svc/domain/ports/SigningKeyRecords"
import type { JsonWebKeyEs256 } from "@svc/protocol/evidence/KeySet"
import { Effect, Redacted } from "effect"
import { managedSigningKey, readManagedKey } from "./ManagedSigningKey.ts"
import { generateSigningKey, signingKey } from "./SignerNodeCrypto.ts"
import { type PrivateJwk, type SigningKey, SigningKeyInvalid } from "./SigningKey.ts"

/** What is sealed of a key in a key management service: its name, so that who can write to the store cannot choose another. */
interface ManagedKey {
  readonly managed: ManagedKeyName
}

/** Why a stored key cannot sign here. */
export type SigningKeyFault = SealBroken | SigningKeyInvalid | KeyManagementFault

const sealed = Effect.fnUntraced(function* (publicJwk: JsonWebKeyEs256, secret: PrivateJwk | ManagedKey) {
  const sealer = yield* SecretSealer
  const text = Redacted.make(JSON.stringify(secret), { label: "signing key" })
  const key: NewSigningKey = { publicJwk, sealed: yield* sealer.seal(signingKeyContext(publicJwk.kid), text) }
  return key
})

/** Generates a signing key and seals its private half for the row of its `kid`. */
export const makeSigningKey: Effect.Effect<NewSigningKey, SigningKeyInvalid, SecretSealer> = Effect.gen(
  function* () {
    const jwk = yield* generateSigningKey
    const { published } = yield* signingKey(jwk)
    return yield* sealed(published, Redacted.value(jwk))
  }
)

/** A signing key that stays in a key management service, once a trial signature of it has been verified. */
export const makeManagedSigningKey = Effect.fnUntraced(function* (
  given: ManagedKeyName
): Effect.fn.Return<NewSigningKey, KeyManagementFault, SecretSealer> {
  const { name, publicJwk } = yield* readManagedKey(given)
  return yield* sealed(publicJwk, { managed: name })
})

const unseal = Effect.fnUntraced(function* ({
  publicJwk,
  sealed: text
}: SigningKeyRecord): Effect.fn.Return<
  Redacted.Redacted<PrivateJwk | ManagedKey>,
  SealBroken | SigningKeyInvalid,
  SecretSealer
> {
  const sealer = yield* SecretSealer
  if (text === undefined) {
    return yield* new SigningKeyInvalid({ detail: "the private half of the signing key is gone" })
  }
  const secret = yield* sealer.open(signingKeyContext(publicJwk.kid), text)
  return Redacted.make(JSON.parse(Redacted.value(secret)) as PrivateJwk | ManagedKey, {
    label: "signing key"
  })
})

/** The name of a stored key in its key management service; `undefined` for one whose private half is in the store. */
export const managedNameOf = (
  record: SigningKeyRecord
): Effect.Effect<ManagedKeyName | undefined, SealBroken | SigningKeyInvalid, SecretSealer> =>
  Effect.map(unseal(record), (secret) => {
    const key = Redacted.value(secret)
    return "managed" in key ? key.managed : undefined
  })

/** Opens a stored key, and checks that it belongs to the published one: one in a key management service by a trial signature. */
export const openSigningKey = Effect.fnUntraced(function* (
  record: SigningKeyRecord
): Effect.fn.Return<SigningKey, SigningKeyFault, SecretSealer> {
  const secret = Redacted.value(yield* unseal(record))
  if ("managed" in secret) return yield* managedSigningKey(secret.managed, record.publicJwk)
  const key = yield* signingKey(Redacted.make(secret, { label: "signing key" }))
  if (key.published.kid === record.publicJwk.kid) return key
  return yield* new SigningKeyInvalid({ detail: "the signing key is not the one that is published" })
})
