import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { type SealBroken, type SealContext, SecretSealer } from "@svc/domain/ports/SecretSealer"
import type { Signer } from "@svc/domain/ports/Signer"
import { generateSigningKey, layerFromKeys, signingKey } from "@svc/signer/SignerNodeCrypto"
import type { PrivateJwk, SigningKeyInvalid } from "@svc/signer/SigningKey"
import { type SigningKeyRecord, SigningKeyRecords } from "@svc/store-postgres/SigningKeyRecords"
import { Effect, Layer, Redacted } from "effect"

const KEY_VERSION = 1

const sealContext = (kid: string): SealContext => ({
  purpose: "signing_key",
  organization: "",
  row: kid,
  version: KEY_VERSION
})

const makeFirst = Effect.gen(function* () {
  const records = yield* SigningKeyRecords
  const sealer = yield* SecretSealer
  const jwk = yield* generateSigningKey
  const { published } = yield* signingKey(jwk)
  const secret = Redacted.make(JSON.stringify(Redacted.value(jwk)), { label: "signing key" })
  const sealed = yield* sealer.seal(sealContext(published.kid), secret)
  yield* records.addFirst({ publicJwk: published, sealed })
})

const openKey = Effect.fnUntraced(function* ({ publicJwk, sealed }: SigningKeyRecord) {
  const sealer = yield* SecretSealer
  const secret = yield* sealer.open(sealContext(publicJwk.kid), sealed)
  return Redacted.make(JSON.parse(Redacted.value(secret)) as PrivateJwk, { label: "signing key" })
})

/** The records, of which one signs. The first process of a deployment makes the first key. */
const readRecords = Effect.gen(function* () {
  const records = yield* SigningKeyRecords
  const found = yield* records.list
  if (found.some(({ isSigning }) => isSigning)) return found
  yield* makeFirst
  return yield* records.list
})

/**
 * Signs with the key that the store keeps sealed, and publishes every key that it keeps (part 7): what was signed
 * before a restart still verifies after it.
 */
export const layer: Layer.Layer<
  Signer,
  SigningKeyInvalid | SealBroken | StoreUnavailable,
  SigningKeyRecords | SecretSealer
> = Layer.unwrap(
  Effect.gen(function* () {
    const records = yield* readRecords
    const signing = records.find(({ isSigning }) => isSigning)
    if (signing === undefined) return yield* Effect.die(new Error("no signing key is on record"))
    return layerFromKeys({
      signing: yield* openKey(signing),
      published: records.map(({ publicJwk }) => publicJwk)
    })
  })
)
