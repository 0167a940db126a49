import { createHash } from "node:crypto"
import { p256 } from "@noble/curves/nist.js"
import { sharedRun } from "@svc/domain/engine/SharedRun"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Signer, SignerUnavailable, type Signing } from "@svc/domain/ports/Signer"
import { isWithdrawn, SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import { isP256PublicKey, P256_SIGNATURE_BYTES } from "@svc/protocol/crypto/P256"
import { type JsonWebKeyEs256, publicKeyToJwk } from "@svc/protocol/evidence/KeySet"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Clock, Data, Effect, Layer } from "effect"
import { PROBE, pointOfJwk } from "./SigningKey.ts"
import { VIEW_LIFETIME_SECONDS } from "./StoredSigner.ts"
import { verifiedSignature } from "./VerifiedSignature.ts"

/** A public P-256 key as a JWK. Other members are ignored: its `kid` in evidence is its RFC 7638 thumbprint. */
export interface PublicP256Jwk {
  readonly kty?: string
  readonly crv?: string
  readonly x?: string
  readonly y?: string
}

/** What is to be signed. */
export interface SignRequest {
  /**
   * The bytes: ES256 signs their SHA-256. They are put together when this is read, and evidence of a long journal has tens of
   * megabytes: where the signer takes a digest, leave it alone.
   */
  readonly data: Uint8Array
  /** SHA-256 of `data`, for services that take a digest. */
  readonly digest: Uint8Array
  /** Aborts when nobody waits for the signature any more, after 10 s at the latest. */
  readonly signal: AbortSignal
}

/** A signing key that is kept outside of the service, in a KMS or an HSM. */
export interface ExternalSigner {
  /** The public half of the key that signs. */
  readonly publicJwk: PublicP256Jwk
  /**
   * Signs with ES256 (ECDSA on P-256 with SHA-256) and resolves with 64 bytes, r then s. A KMS that gives DER needs
   * `signatureFromDer`. If it rejects, the evidence is refused with `store_unavailable` and may be asked for again.
   */
  readonly sign: (request: SignRequest) => Promise<Uint8Array>
  /**
   * Public keys that stay in the key set beside it: those that signed before, without which their evidence does not verify any
   * more, and one that is to sign next, at least 15 minutes before it does.
   */
  readonly published?: ReadonlyArray<PublicP256Jwk>
}

/** The signer answered with something other than a signature of its key; `detail` says what, without the bytes. */
export class ExternalSignatureInvalid extends Data.TaggedError("ExternalSignatureInvalid")<{
  readonly detail: string
}> {}

/** Longest that a signature is waited for. */
const SIGN_TIMEOUT = "10 seconds"
/** Longest that a start waits for the trial signature: a signer that is down does not hold it up. */
const PROBE_TIMEOUT = "5 seconds"
/** Longest that the key set waits for the keys in the store. */
const KEY_SET_TIMEOUT = "1 second"

const DER_SEQUENCE = 0x30

/**
 * The 64 bytes, r then s, of an ECDSA signature in DER, as AWS KMS, Google Cloud KMS and PKCS #11 bridges give it. Throws if it
 * is not one on P-256.
 */
export const signatureFromDer = (der: Uint8Array): Uint8Array =>
  p256.Signature.fromBytes(der, "der").toBytes("compact")

const publishedOf = (jwk: PublicP256Jwk): JsonWebKeyEs256 | undefined => {
  const point = pointOfJwk(jwk)
  return point !== undefined && isP256PublicKey(point) ? publicKeyToJwk(point) : undefined
}

const jwkFault = (jwk: unknown, name: string): ReadonlyArray<string> => {
  if (typeof jwk !== "object" || jwk === null) return [`${name} must be a public key as a JWK`]
  if ("d" in jwk) return [`${name} has the private member d: give the public key alone`]
  return publishedOf(jwk) === undefined
    ? [`${name} must be a P-256 key as a JWK with kty "EC", crv "P-256", x and y`]
    : []
}

/** What is wrong with a signer of any shape, a clause each. */
export const externalSignerFaults = (signer: unknown): ReadonlyArray<string> => {
  if (typeof signer !== "object" || signer === null)
    return ["signer must be an object with publicJwk and sign"]
  const { published = [], publicJwk, sign } = signer as Partial<ExternalSigner>
  return [
    ...jwkFault(publicJwk, "signer.publicJwk"),
    ...(typeof sign === "function" ? [] : ["signer.sign must be a function that resolves with a signature"]),
    ...(Array.isArray(published)
      ? published.flatMap((jwk, index) => jwkFault(jwk, `signer.published[${index}]`))
      : ["signer.published must be a list of public keys"])
  ]
}

const signatureFault = (answer: unknown): string | undefined => {
  if (!(answer instanceof Uint8Array)) return "it is not a Uint8Array"
  if (answer.length === P256_SIGNATURE_BYTES) return undefined
  const isDer = answer[0] === DER_SEQUENCE
  return `it has ${answer.length} bytes, not ${P256_SIGNATURE_BYTES}${isDer ? ": it looks like DER, which signatureFromDer converts" : ""}`
}

/** The signature that a signer gives of some pieces, after it has been verified with its public key. */
const makeSign = (signer: ExternalSigner, publicKey: Uint8Array) =>
  Effect.fnUntraced(function* (
    pieces: ReadonlyArray<Uint8Array>,
    digest: Uint8Array
  ): Effect.fn.Return<Uint8Array, SignerUnavailable | ExternalSignatureInvalid> {
    // The signer gets copies, so that what is verified below is what was asked for.
    const requestWith = (signal: AbortSignal): SignRequest => ({
      get data() {
        return new Uint8Array(Buffer.concat(pieces))
      },
      digest: digest.slice(),
      signal
    })
    const answer = yield* Effect.tryPromise({
      try: async (signal): Promise<unknown> => signer.sign(requestWith(signal)),
      catch: (cause) => new SignerUnavailable({ cause })
    }).pipe(
      Effect.timeoutOrElse({
        duration: SIGN_TIMEOUT,
        orElse: () => Effect.fail(new SignerUnavailable({ cause: `no signature within ${SIGN_TIMEOUT}` }))
      })
    )
    const fault = signatureFault(answer)
    if (fault !== undefined)
      return yield* new ExternalSignatureInvalid({ detail: `the signer's answer is no signature: ${fault}` })
    return (
      verifiedSignature(Uint8Array.from(answer as Uint8Array), digest, publicKey) ??
      (yield* new ExternalSignatureInvalid({
        detail: "the signer's signature does not verify with signer.publicJwk"
      }))
    )
  })

/** A signature of a signer: what is signed is kept, in case the signer wants to see it. */
const beginWith = (sign: ReturnType<typeof makeSign>): Signing => {
  const hash = createHash("sha256")
  const pieces: Array<Uint8Array> = []
  return {
    update: (piece) => {
      hash.update(piece)
      pieces.push(piece)
    },
    signature: Effect.suspend(() => sign(pieces, new Uint8Array(hash.digest()))).pipe(
      Effect.catchTag("ExternalSignatureInvalid", ({ detail }) =>
        Effect.fail(new SignerUnavailable({ cause: detail }))
      )
    )
  }
}

type StoredKeys = Effect.Effect<ReadonlyArray<JsonWebKeyEs256>>

/** The keys of the store that are in the key set, as they were read at most some seconds ago. */
const makeStoredKeys = Effect.gen(function* () {
  const records = yield* SigningKeyRecords
  const read = Effect.gen(function* () {
    const { keys } = yield* records.list
    return {
      keys: keys.filter((key) => !isWithdrawn(key)).map(({ publicJwk }) => publicJwk),
      readAt: yield* Clock.monotonicTimeNanos
    }
  })
  let view = yield* read
  const refresh = sharedRun(
    Effect.tap(read, (seen) =>
      Effect.sync(() => {
        view = seen
      })
    ),
    yield* Effect.scope
  )
  const stored: StoredKeys = Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
    now - view.readAt < VIEW_LIFETIME_SECONDS * NANOS_PER_SECOND ? Effect.succeed(view) : refresh
  ).pipe(
    Effect.timeout(KEY_SET_TIMEOUT),
    // While the store is unreachable, the last known keys are published.
    Effect.catch(() => Effect.sync(() => view)),
    Effect.map(({ keys }) => keys)
  )
  return stored
})

const makeSigner = Effect.fnUntraced(function* (
  signer: ExternalSigner,
  stored: StoredKeys
): Effect.fn.Return<Signer["Service"], ExternalSignatureInvalid> {
  const publicKey = pointOfJwk(signer.publicJwk)
  const current = publishedOf(signer.publicJwk)
  if (publicKey === undefined || current === undefined)
    return yield* new ExternalSignatureInvalid({ detail: "signer.publicJwk is no public P-256 key" })
  const sign = makeSign(signer, publicKey)
  // A signer that answers wrongly is a wrong configuration. One that does not answer may be back for the first evidence.
  yield* sign([PROBE], createHash("sha256").update(PROBE).digest()).pipe(
    Effect.timeoutOrElse({
      duration: PROBE_TIMEOUT,
      orElse: () => Effect.fail(new SignerUnavailable({ cause: `no signature within ${PROBE_TIMEOUT}` }))
    }),
    Effect.catchTag("SignerUnavailable", ({ cause }) =>
      Effect.logWarning("the signer does not answer: evidence is refused until it does", cause)
    )
  )
  const beside = (signer.published ?? []).flatMap((jwk) => publishedOf(jwk) ?? [])
  return Signer.of({
    current: Effect.succeed({ kid: current.kid, begin: () => beginWith(sign) }),
    keySet: Effect.map(stored, (keys) => ({
      keys: [...new Map([current, ...beside, ...keys].map((key) => [key.kid, key])).values()]
    }))
  })
})

/**
 * Signs with a key that is kept elsewhere. Every signature is verified before it is used, so that a faulty signer makes evidence
 * unavailable and never wrong. A trial signature at the start finds a signer that answers wrongly.
 */
export const layer = (signer: ExternalSigner): Layer.Layer<Signer, ExternalSignatureInvalid> =>
  Layer.effect(Signer, makeSigner(signer, Effect.succeed([])))

/** As `layer`, on a store whose own signing keys stay published, so that what they signed still verifies. */
export const layerBesideStored = (
  signer: ExternalSigner
): Layer.Layer<Signer, ExternalSignatureInvalid | StoreUnavailable, SigningKeyRecords> =>
  Layer.effect(
    Signer,
    Effect.flatMap(makeStoredKeys, (stored) => makeSigner(signer, stored))
  )
