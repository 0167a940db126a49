import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { decodeBase64Url, encodeBase64Url, isBase64Url } from "../Base64Url.ts"
import { isP256PublicKey, verifyP256 } from "../crypto/P256.ts"
import { described } from "../Described.ts"
import type { JsonObject } from "../json/Json.ts"
import {
  CONTINUATION_FORMAT,
  EVIDENCE_FORMAT,
  EvidenceInvalid,
  type ReceivedEnvelope,
  readEnvelope,
  readEnvelopeBytes,
  readPayload,
  signedPartsOf,
  signingInput
} from "./ReadEnvelope.ts"

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

/** The protected header of evidence as base64url. */
export const evidenceHeader = (kid: string): string =>
  encodeBase64Url(new TextEncoder().encode(JSON.stringify({ alg: "ES256", kid })))

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

type Checked<A> = Result.Result<A, EvidenceInvalid>

const verifyReceived = (received: ReceivedEnvelope): Checked<VerifiedEvidence> =>
  Result.gen(function* () {
    const { publicKey, kid } = received
    if (!isP256PublicKey(publicKey))
      return yield* Result.fail(new EvidenceInvalid({ reason: "key_unsuitable" }))
    const { data, signature } = yield* signedPartsOf(received)
    if (!verifyP256({ publicKey, signature, data })) {
      return yield* Result.fail(new EvidenceInvalid({ reason: "signature_invalid" }))
    }
    const payload = yield* readPayload(received)
    const payloadText = new TextDecoder().decode(decodeBase64Url(received.payload))
    return { payload, payloadText, kid }
  })

/** Evidence whose signature is valid. */
export interface VerifiedEvidence {
  readonly payload: JsonObject
  readonly payloadText: string
  readonly kid: string
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
  Result.flatMap(readEnvelope(envelope, keySet), verifyReceived)

/**
 * Verifies an evidence envelope as it was received or kept, as {@link verifyEvidence} does, and refuses one that is not
 * strict JSON: no byte order mark, no duplicate member, and nothing but the envelope's members (part 7).
 */
export const verifyEvidenceBytes = (envelope: Uint8Array, keySet: unknown): Checked<VerifiedEvidence> =>
  Result.flatMap(readEnvelopeBytes(envelope, keySet), verifyReceived)

/**
 * Verifies the envelope of a continuation as {@link verifyEvidence} does. Whether it continues what the caller has is for
 * the caller to check: `after` of its payload is the head that the caller knows, and its first event is chained to it.
 */
export const verifyEvidenceContinuation = (envelope: unknown, keySet: unknown): Checked<VerifiedEvidence> =>
  Result.flatMap(readEnvelope(envelope, keySet, CONTINUATION_FORMAT), verifyReceived)
