import {
  CONTINUATION_FORMAT,
  EVIDENCE_FORMAT,
  type EvidenceFault,
  type EvidenceFormat,
  type EvidenceInvalid,
  type ReceivedEnvelope,
  readEnvelope,
  readEnvelopeBytes,
  readPayload,
  signedPartsOf
} from "@svc/protocol/evidence/ReadEnvelope"
import type { JsonObject } from "@svc/protocol/json/Json"
import * as Result from "effect/Result"
import { verifyEs256 } from "./Es256.ts"
import { continuationShape, payloadShape } from "./EventShapes.ts"
import type { CheckName, CheckRecorder } from "./Report.ts"
import { faultOf } from "./Shape.ts"

/** What is wrong with an envelope, in words, and the check that it belongs to. */
const ENVELOPE_FAULTS: Readonly<
  Record<EvidenceFault, readonly [check: CheckName, member: string, detail: string]>
> = {
  envelope_malformed: [
    "envelope",
    "",
    "it is not strict JSON with exactly format, protected, payload, signature"
  ],
  format_unsupported: [
    "envelope",
    "/format",
    "it is not svc.evidence.v1, or svc.evidence.continuation.v1 behind what it continues"
  ],
  protected_malformed: [
    "protected_header",
    "/protected",
    "it is not base64url of strict JSON with alg and kid"
  ],
  algorithm_unsupported: ["protected_header", "/protected", "alg is not ES256"],
  key_set_malformed: ["key", "/protected", "the key set is none: it has no list of keys"],
  key_unknown: ["key", "/protected", "the key set has no key with the kid"],
  key_duplicated: ["key", "/protected", "the key set has several keys with the kid"],
  key_unsuitable: ["key", "/protected", "the key is not exactly an ES256 key whose kid is its thumbprint"],
  payload_too_large: ["payload", "/payload", "it is longer than any evidence"],
  signature_malformed: ["signature", "/signature", "it is not base64url of 64 bytes"],
  signature_invalid: ["signature", "/signature", "the key did not sign this text"],
  payload_malformed: ["payload", "/payload", "it is not canonical base64url of strict JSON"],
  schema_unsupported: ["payload", "/payload", "the schema is not the format of the envelope"]
}

const UNSUPPORTED: ReadonlySet<EvidenceFault> = new Set(["format_unsupported", "schema_unsupported"])

const ENVELOPE_CHECKS: ReadonlyArray<CheckName> = [
  "envelope",
  "protected_header",
  "key",
  "signature",
  "payload"
]

const recordEnvelopeFault = (reason: EvidenceFault, checks: CheckRecorder): void => {
  const [check, member, detail] = ENVELOPE_FAULTS[reason]
  // A payload that is too long or not base64url is found before the signature is looked at.
  const made = Math.min(ENVELOPE_CHECKS.indexOf(check), ENVELOPE_CHECKS.indexOf("signature"))
  checks.made(...ENVELOPE_CHECKS.slice(0, made))
  const fault = { member, detail }
  if (UNSUPPORTED.has(reason)) checks.unsupported(check, fault)
  else checks.fault(check, fault)
}

/** Longest envelope that is worth reading into memory, in bytes: above that of the longest payload that is decoded. */
export const MAX_ENVELOPE_BYTES = 100 * 1_048_576

/** Longest key set that is worth reading into memory, in bytes: far above that of any service. */
export const MAX_KEY_SET_BYTES = 1_048_576

/** An envelope as it was received, byte for byte, or as parsed JSON. */
export type Envelope = Uint8Array | object

/** Evidence, alone or followed by its continuations in their order. */
export type Evidence = Envelope | readonly [evidence: Envelope, ...continuations: ReadonlyArray<Envelope>]

/** Reads an envelope and verifies its signature; without a payload there is nothing to go on with. */
const openEnvelope = async (
  envelope: unknown,
  keySet: unknown,
  { checks, format }: { readonly checks: CheckRecorder; readonly format: EvidenceFormat }
): Promise<{ readonly payload?: JsonObject; readonly kid?: string }> => {
  const refused = ({ reason }: EvidenceInvalid, kid?: string) => {
    recordEnvelopeFault(reason, checks)
    return kid === undefined ? {} : { kid }
  }
  const received: Result.Result<ReceivedEnvelope, EvidenceInvalid> =
    envelope instanceof Uint8Array
      ? readEnvelopeBytes(envelope, keySet, format)
      : readEnvelope(envelope, keySet, format)
  if (Result.isFailure(received)) return refused(received.failure)
  const { kid, publicKey } = received.success
  const parts = signedPartsOf(received.success)
  if (Result.isFailure(parts)) return refused(parts.failure, kid)
  const isSigned = await verifyEs256({ publicKey, ...parts.success })
  if (isSigned !== true) {
    recordEnvelopeFault(isSigned === undefined ? "key_unsuitable" : "signature_invalid", checks)
    return { kid }
  }
  checks.made(...ENVELOPE_CHECKS)
  const payload = readPayload(received.success)
  return Result.isFailure(payload) ? refused(payload.failure, kid) : { payload: payload.success, kid }
}

/** The payload of evidence, its form checked but for the events and the mandate. */
export interface Payload {
  readonly generated_at: string
  readonly organization_id: string
  readonly environment: string
  readonly mandate: JsonObject
  readonly events: ReadonlyArray<JsonObject>
  readonly head: { readonly seq: number; readonly hash: string }
}

interface Continuation extends Payload {
  readonly after: { readonly seq: number; readonly hash: string }
}

const checkedForm = (payload: JsonObject, isFirst: boolean, checks: CheckRecorder): boolean => {
  const member = faultOf(isFirst ? payloadShape : continuationShape, payload)
  if (member === undefined) return true
  checks.fault("payload", { member, detail: "the member has not the form that it must have" })
  return false
}

/** Evidence and a continuation of it as one; what the continuation names and the evidence lacks is a fault. */
const join = (before: Payload, { after, ...next }: Continuation, checks: CheckRecorder): Payload => {
  const fault = (member: string, detail: string) => checks.fault("continuation", { member, detail })
  checks.made("continuation")
  for (const member of ["organization_id", "environment"] as const) {
    if (next[member] !== before[member]) fault(`/${member}`, "it is not that of what it continues")
  }
  if (next.mandate.id !== before.mandate.id) fault("/mandate/id", "it is not that of what it continues")
  if (before.events[after.seq - 1]?.hash !== after.hash) {
    fault("/after", "what it continues has no such event: it is another history")
  }
  const last = before.events.at(-1)
  if (last?.seq !== before.head.seq || last.hash !== before.head.hash) {
    fault("/head", "the head of what it continues is not the last event of that")
  }
  const events = [...before.events.slice(0, after.seq), ...next.events]
  if (events[before.head.seq - 1]?.hash !== before.head.hash) {
    fault("/events", "they do not lead over the head of what it continues")
  }
  return { ...next, events }
}

/** Opens evidence and its continuations, and joins them; without a payload there is nothing to go on with. */
export const openEvidence = async (
  evidence: Evidence,
  keySet: unknown,
  checks: CheckRecorder
): Promise<{ readonly payload?: Payload; readonly kid?: string }> => {
  const envelopes: ReadonlyArray<unknown> =
    Array.isArray(evidence) && evidence.length > 0 ? evidence : [evidence]
  let joined: Payload | undefined
  let lastKid: string | undefined
  for (const [index, envelope] of envelopes.entries()) {
    const format = index === 0 ? EVIDENCE_FORMAT : CONTINUATION_FORMAT
    const { kid, payload } = await openEnvelope(envelope, keySet, { checks, format })
    lastKid = kid
    if (payload === undefined || !checkedForm(payload, index === 0, checks)) {
      return kid === undefined ? {} : { kid }
    }
    joined =
      joined === undefined
        ? (payload as unknown as Payload)
        : join(joined, payload as unknown as Continuation, checks)
  }
  return {
    ...(joined === undefined ? {} : { payload: joined }),
    ...(lastKid === undefined ? {} : { kid: lastKid })
  }
}
