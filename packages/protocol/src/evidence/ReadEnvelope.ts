import * as Data from "effect/Data"
import * as Result from "effect/Result"
import { decodeBase64Url, isBase64Url } from "../Base64Url.ts"
import { isJsonObject, type JsonObject } from "../json/Json.ts"
import { parseStrictJson } from "../json/StrictJson.ts"
import { jwkThumbprint } from "./JwkThumbprint.ts"

/** Value of `format` and of the payload's `schema` (part 7). */
export const EVIDENCE_FORMAT = "svc.evidence.v1"

/** Value of `format` and of the payload's `schema` of a continuation: the events after a known one (part 7). */
export const CONTINUATION_FORMAT = "svc.evidence.continuation.v1"

export type EvidenceFormat = typeof EVIDENCE_FORMAT | typeof CONTINUATION_FORMAT

/** Longest `protected` that a verifier looks at, in characters; ours are about 100. */
export const MAX_PROTECTED_CHARACTERS = 4096

/** Largest payload that a verifier decodes: twice the largest journal (part 4). */
export const MAX_EVIDENCE_PAYLOAD_BYTES = 64 * 1024 * 1024

/** Deepest nesting of an evidence payload; a request's members sit a few levels down in an event. */
export const MAX_EVIDENCE_DEPTH = 64

const MAX_PAYLOAD_CHARACTERS = Math.ceil((MAX_EVIDENCE_PAYLOAD_BYTES * 4) / 3)
const UNCOMPRESSED_POINT = 0x04
const COORDINATE_BYTES = 32
const SIGNATURE_BYTES = 64

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

interface EnvelopeMembers {
  readonly format: EvidenceFormat
  readonly protected: string
  readonly payload: string
  readonly signature: string
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

const readMembers = (envelope: unknown, expected: EvidenceFormat): Checked<EnvelopeMembers> => {
  const copy = copyMembers(envelope)
  if (copy === undefined || !hasExactly(copy, ENVELOPE_MEMBERS)) return invalid("envelope_malformed")
  const { format, protected: header, payload, signature } = copy
  if (!isText(format) || !isText(header) || !isText(payload) || !isText(signature)) {
    return invalid("envelope_malformed")
  }
  if (format !== expected) return invalid("format_unsupported")
  return Result.succeed({ format: expected, protected: header, payload, signature })
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
  if (!isText(key.x) || !isText(key.y)) return undefined
  const x = decodeBase64Url(key.x)
  const y = decodeBase64Url(key.y)
  if (x?.length !== COORDINATE_BYTES || y?.length !== COORDINATE_BYTES) return undefined
  if (jwkThumbprint({ kty: key.kty, crv: key.crv, x: key.x, y: key.y }) !== key.kid) return undefined
  const publicKey = new Uint8Array(1 + 2 * COORDINATE_BYTES)
  publicKey[0] = UNCOMPRESSED_POINT
  publicKey.set(x, 1)
  publicKey.set(y, 1 + COORDINATE_BYTES)
  return publicKey
}

/** An envelope that has the form of one, and the key that it names. */
export interface ReceivedEnvelope extends EnvelopeMembers {
  readonly kid: string
  /** The key as an uncompressed point of 65 bytes. Whether it lies on P-256 is for what verifies with it to say. */
  readonly publicKey: Uint8Array
}

/**
 * Reads an envelope and finds its key, by the verification rules of part 7 up to the signature: exact members, format, `alg`
 * and `kid`, one matching key. `envelope` and `keySet` are parsed JSON of any shape.
 */
export const readEnvelope = (
  envelope: unknown,
  keySet: unknown,
  format: EvidenceFormat = EVIDENCE_FORMAT
): Checked<ReceivedEnvelope> =>
  Result.gen(function* () {
    const received = yield* readMembers(envelope, format)
    const kid = yield* readKid(received.protected)
    const publicKey = yield* resolveKey(keySet, kid)
    return { ...received, kid, publicKey }
  })

/** {@link readEnvelope} for an envelope as it was received or kept, which must be strict JSON. */
export const readEnvelopeBytes = (
  envelope: Uint8Array,
  keySet: unknown,
  format: EvidenceFormat = EVIDENCE_FORMAT
): Checked<ReceivedEnvelope> => {
  const parsed = parseObject(envelope, 1)
  return parsed === undefined ? invalid("envelope_malformed") : readEnvelope(parsed, keySet, format)
}

/** What the signature of a received envelope is verified with: its 64 bytes, and the bytes that were signed. */
export const signedPartsOf = (
  received: ReceivedEnvelope
): Checked<{ readonly signature: Uint8Array; readonly data: Uint8Array }> => {
  if (received.payload.length > MAX_PAYLOAD_CHARACTERS) return invalid("payload_too_large")
  if (!isBase64Url(received.payload)) return invalid("payload_malformed")
  const signature = decodeBase64Url(received.signature)
  if (signature?.length !== SIGNATURE_BYTES) return invalid("signature_malformed")
  return Result.succeed({ signature, data: signingInput(received.protected, received.payload) })
}

/** The bytes that are signed: the ASCII text `protected`, a full stop, `payload`. */
export const signingInput = (protectedHeader: string, payload: string): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(`${protectedHeader}.${payload}`)

/** Reads the payload of an envelope whose signature is valid, and not before that. */
export const readPayload = ({ format, payload: text }: ReceivedEnvelope): Checked<JsonObject> => {
  const payload = parseObject(decodeBase64Url(text), MAX_EVIDENCE_DEPTH)
  if (payload === undefined) return invalid("payload_malformed")
  return payload.schema === format ? Result.succeed(payload) : invalid("schema_unsupported")
}
