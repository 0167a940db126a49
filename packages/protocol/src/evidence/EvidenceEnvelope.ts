import * as Data from "effect/Data"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { decodeBase64Url, encodeBase64Url, isBase64Url } from "../Base64Url.ts"
import {
  isP256PublicKey,
  P256_COORDINATE_BYTES,
  P256_PUBLIC_KEY_BYTES,
  P256_SIGNATURE_BYTES,
  verifyP256
} from "../crypto/P256.ts"
import { described } from "../Described.ts"
import { isJsonObject, type JsonObject } from "../json/Json.ts"
import { parseStrictJson } from "../json/StrictJson.ts"

/** Value of `format` and of the payload's `schema` (part 7). */
export const EVIDENCE_FORMAT = "svc.evidence.v1"

/** Value of `format` and of the payload's `schema` of a continuation: the events after a known one (part 7). */
export const CONTINUATION_FORMAT = "svc.evidence.continuation.v1"

/** Longest `protected` that a verifier looks at, in characters; ours are about 100. */
export const MAX_PROTECTED_CHARACTERS = 4096

/** Largest payload that a verifier decodes: twice the largest journal (part 4). */
export const MAX_EVIDENCE_PAYLOAD_BYTES = 64 * 1024 * 1024

/** Deepest nesting of an evidence payload; a request's members sit a few levels down in an event. */
export const MAX_EVIDENCE_DEPTH = 64

const MAX_PAYLOAD_CHARACTERS = Math.ceil((MAX_EVIDENCE_PAYLOAD_BYTES * 4) / 3)
const UNCOMPRESSED_POINT = 0x04

const Base64UrlText = Schema.String.check(
  Schema.makeFilter((text: string) => isBase64Url(text) || "unpadded canonical base64url", {
    toJsonSchema: () => ({ pattern: "^[A-Za-z0-9_-]*$" })
  })
)

/** The evidence envelope: a flattened JWS with a `format`, exactly these members (part 7). */
export const EvidenceEnvelope = Schema.Struct({
  format: described(Schema.Literal(EVIDENCE_FORMAT), "Version of the format.", EVIDENCE_FORMAT),
  protected: described(
    Base64UrlText,
    "base64url of a JSON object with exactly alg (ES256) and kid.",
    "eyJhbGciOiJFUzI1NiIsImtpZCI6IjJiVUcySnJoRC1pS0p2clV6alRWbF9CY1ppTlFQTWZwVjFWWlhpMkp6SHMifQ"
  ),
  payload: described(
    Base64UrlText,
    "base64url of JSON with schema, generated_at, organization_id, environment, mandate (without usage), events (the whole journal) and head (seq and hash of the last event). Verify before you decode it.",
    "eyJzY2hlbWEiOiJzdmMuZXZpZGVuY2UudjEifQ"
  ),
  signature: described(
    Base64UrlText,
    "base64url of the 64 bytes R and S over the ASCII text protected, a full stop, payload: 86 characters.",
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
  )
})
export type EvidenceEnvelope = typeof EvidenceEnvelope.Type

/** What continues evidence that its holder has: the same envelope under a format of its own (part 7). */
export const EvidenceContinuation = Schema.Struct({
  ...EvidenceEnvelope.fields,
  format: described(Schema.Literal(CONTINUATION_FORMAT), "Version of the format.", CONTINUATION_FORMAT),
  payload: described(
    Base64UrlText,
    "base64url of JSON with schema, generated_at, organization_id, environment, mandate (without usage), after (seq and hash of the event that the holder has last), events (all later ones) and head. Verify before you decode it.",
    "eyJzY2hlbWEiOiJzdmMuZXZpZGVuY2UuY29udGludWF0aW9uLnYxIn0"
  )
})
export type EvidenceContinuation = typeof EvidenceContinuation.Type

/**
 * Why an envelope is refused, in the order of the checks; a payload that is not base64url is malformed
 * before its signature is looked at.
 */
export type EvidenceFault =
  | "envelope_malformed"
  | "format_unsupported"
  | "protected_malformed"
  | "algorithm_unsupported"
  | "key_set_malformed"
  | "key_unknown"
  | "key_duplicated"
  | "key_unsuitable"
  | "payload_too_large"
  | "signature_malformed"
  | "signature_invalid"
  | "payload_malformed"
  | "schema_unsupported"

/** The envelope is not evidence of this service, which is a security incident for its holder (part 7). */
export class EvidenceInvalid extends Data.TaggedError("EvidenceInvalid")<{
  readonly reason: EvidenceFault
}> {}

type Checked<A> = Result.Result<A, EvidenceInvalid>

const invalid = (reason: EvidenceFault) => Result.fail(new EvidenceInvalid({ reason }))

const encoder = new TextEncoder()

const signingInput = (protectedHeader: string, payload: string): Uint8Array =>
  encoder.encode(`${protectedHeader}.${payload}`)

/** The protected header of evidence as base64url. */
export const evidenceHeader = (kid: string): string =>
  encodeBase64Url(encoder.encode(JSON.stringify({ alg: "ES256", kid })))

/**
 * What a signer signs and the envelope carries: the protected header as base64url, and the bytes of
 * `protected + "." + payload`. `payload` is base64url of the JSON text.
 */
export const evidenceSigningInput = (input: {
  readonly kid: string
  readonly payload: string
}): { readonly protected: string; readonly bytes: Uint8Array } => {
  const protectedHeader = evidenceHeader(input.kid)
  return { protected: protectedHeader, bytes: signingInput(protectedHeader, input.payload) }
}

/**
 * Own members of an object, each read exactly once; `undefined` when it is no object or reading throws.
 * What follows works on the copy, so that a getter has one chance only.
 */
const copyMembers = (value: unknown): Readonly<Record<string, unknown>> | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  try {
    return { ...value }
  } catch {
    return undefined
  }
}

const hasExactly = (members: Readonly<Record<string, unknown>>, names: ReadonlyArray<string>): boolean =>
  Reflect.ownKeys(members).length === names.length && names.every((name) => Object.hasOwn(members, name))

const isText = (value: unknown): value is string => typeof value === "string"

const ENVELOPE_MEMBERS = ["format", "protected", "payload", "signature"]

type EvidenceFormat = typeof EVIDENCE_FORMAT | typeof CONTINUATION_FORMAT

const readEnvelope = (
  envelope: unknown,
  expected: EvidenceFormat
): Checked<Readonly<Record<keyof EvidenceEnvelope, string>>> => {
  const copy = copyMembers(envelope)
  if (copy === undefined || !hasExactly(copy, ENVELOPE_MEMBERS)) return invalid("envelope_malformed")
  const { format, protected: header, payload, signature } = copy
  if (!isText(format) || !isText(header) || !isText(payload) || !isText(signature)) {
    return invalid("envelope_malformed")
  }
  if (format !== expected) return invalid("format_unsupported")
  return Result.succeed({ format, protected: header, payload, signature })
}

const parseObject = (bytes: Uint8Array | undefined, maxDepth: number): JsonObject | undefined => {
  if (bytes === undefined) return undefined
  const parsed = parseStrictJson(bytes, { maxDepth, plainIntegers: true })
  return Result.isSuccess(parsed) && isJsonObject(parsed.success) ? parsed.success : undefined
}

const readKid = (protectedHeader: string): Checked<string> => {
  if (protectedHeader.length > MAX_PROTECTED_CHARACTERS) return invalid("protected_malformed")
  const header = parseObject(decodeBase64Url(protectedHeader), 1)
  if (header === undefined || !hasExactly(header, ["alg", "kid"])) return invalid("protected_malformed")
  if (!isText(header.alg) || !isText(header.kid)) return invalid("protected_malformed")
  return header.alg === "ES256" ? Result.succeed(header.kid) : invalid("algorithm_unsupported")
}

const copyKeys = (keySet: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> | undefined => {
  const keys = copyMembers(keySet)?.keys
  if (!Array.isArray(keys)) return undefined
  return Object.values(copyMembers(keys) ?? {})
    .map(copyMembers)
    .filter((key) => key !== undefined)
}

/** Exactly one key may carry the `kid`, whatever else it is; the rest of the set is not looked at. */
const resolveKey = (keySet: unknown, kid: string): Checked<Uint8Array> => {
  const keys = copyKeys(keySet)
  if (keys === undefined) return invalid("key_set_malformed")
  const [key, another] = keys.filter((candidate) => Object.hasOwn(candidate, "kid") && candidate.kid === kid)
  if (key === undefined) return invalid("key_unknown")
  if (another !== undefined) return invalid("key_duplicated")
  const publicKey = publicKeyOf(key)
  return publicKey === undefined ? invalid("key_unsuitable") : Result.succeed(publicKey)
}

const KEY_MEMBERS = ["kty", "crv", "use", "alg", "kid", "x", "y"]

const publicKeyOf = (key: Readonly<Record<string, unknown>>): Uint8Array | undefined => {
  if (!hasExactly(key, KEY_MEMBERS)) return undefined
  if (key.kty !== "EC" || key.crv !== "P-256" || key.use !== "sig" || key.alg !== "ES256") return undefined
  const x = isText(key.x) ? decodeBase64Url(key.x) : undefined
  const y = isText(key.y) ? decodeBase64Url(key.y) : undefined
  if (x?.length !== P256_COORDINATE_BYTES || y?.length !== P256_COORDINATE_BYTES) return undefined
  const publicKey = new Uint8Array(P256_PUBLIC_KEY_BYTES)
  publicKey[0] = UNCOMPRESSED_POINT
  publicKey.set(x, 1)
  publicKey.set(y, 1 + P256_COORDINATE_BYTES)
  return isP256PublicKey(publicKey) ? publicKey : undefined
}

/**
 * Verifies an evidence envelope against the service's key set, by the verification rules of part 7: format, exact
 * members, `alg` and `kid`, one matching key, signature over the text as received, and only then the payload and its
 * `schema`.
 *
 * Shows who signed which bytes. Whether the events in them are consistent is left to a deep verifier (part 7).
 * `envelope` and `keySet` are parsed JSON of any shape. An envelope that came as bytes is for
 * {@link verifyEvidenceBytes}: parsing hides a duplicate member.
 */
export const verifyEvidence = (envelope: unknown, keySet: unknown): Checked<VerifiedEvidence> =>
  verifyAs(EVIDENCE_FORMAT, envelope, keySet)

/**
 * Verifies the envelope of a continuation as {@link verifyEvidence} does. Whether it continues what the caller has is for
 * the caller to check: `after` of its payload is the head that the caller knows, and its first event is chained to it.
 */
export const verifyEvidenceContinuation = (envelope: unknown, keySet: unknown): Checked<VerifiedEvidence> =>
  verifyAs(CONTINUATION_FORMAT, envelope, keySet)

/** The payload of a verified envelope, its very text, and the key that it verified with. */
export interface VerifiedEvidence {
  readonly payload: JsonObject
  readonly payloadText: string
  readonly kid: string
}

const verifyAs = (format: EvidenceFormat, envelope: unknown, keySet: unknown): Checked<VerifiedEvidence> =>
  Result.gen(function* () {
    const received = yield* readEnvelope(envelope, format)
    const kid = yield* readKid(received.protected)
    const publicKey = yield* resolveKey(keySet, kid)
    yield* checkSignature(received, publicKey)
    const bytes = decodeBase64Url(received.payload)
    const payload = parseObject(bytes, MAX_EVIDENCE_DEPTH)
    if (payload === undefined) return yield* invalid("payload_malformed")
    if (payload.schema !== format) return yield* invalid("schema_unsupported")
    return { payload, payloadText: new TextDecoder().decode(bytes), kid }
  })

/**
 * Verifies an evidence envelope as it was received or kept, as {@link verifyEvidence} does, and refuses one that is not
 * strict JSON: no byte order mark, no duplicate member, and nothing but the envelope's members (part 7).
 */
export const verifyEvidenceBytes = (
  envelope: Uint8Array,
  keySet: unknown
): ReturnType<typeof verifyEvidence> => {
  const parsed = parseObject(envelope, 1)
  return parsed === undefined ? invalid("envelope_malformed") : verifyEvidence(parsed, keySet)
}

const checkSignature = (
  received: { readonly protected: string; readonly payload: string; readonly signature: string },
  publicKey: Uint8Array
): Checked<void> => {
  if (received.payload.length > MAX_PAYLOAD_CHARACTERS) return invalid("payload_too_large")
  if (!isBase64Url(received.payload)) return invalid("payload_malformed")
  const signature = decodeBase64Url(received.signature)
  if (signature?.length !== P256_SIGNATURE_BYTES) return invalid("signature_malformed")
  const data = signingInput(received.protected, received.payload)
  return verifyP256({ publicKey, signature, data }) ? Result.void : invalid("signature_invalid")
}
