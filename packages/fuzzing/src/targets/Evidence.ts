import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { verifyEvidenceBytes } from "@svc/protocol/evidence/EvidenceEnvelope"
import {
  GENERATED,
  keySet,
  longLife,
  NOW,
  signingKey,
  signPayload,
  bytesOf as written
} from "@svc/testkit/EvidenceMaker"
import { verifyEvidence } from "@svc/verifier"
import { Result } from "effect"
import { demand, type FuzzTarget, latin1Of, textOf } from "../FuzzTarget.ts"

const payload = longLife().payload(GENERATED)
const envelope = written(signPayload(payload))

const words = [
  '"format":',
  '"svc.evidence.v1"',
  '"protected":',
  '"payload":',
  '"signature":',
  "eyJhbGciOiJub25lIn0",
  '{"alg":"ES256","kid":"',
  signingKey.kid,
  "=",
  "A",
  ",",
  '"seq":',
  '"type":"mandate.created"',
  '"type":"authorization.committed"',
  '"occurred_at":',
  "2026-12-02T10:00:00.000000000Z",
  '"data":',
  "null",
  "[]",
  "{}",
  '"hash":',
  '"prev_hash":'
]

/** Envelopes: valid is only one whose payload is what was signed. */
export const evidenceEnvelopes: FuzzTarget = {
  seeds: [
    envelope,
    written(signPayload('{"schema":"svc.evidence.v1"}')),
    '{"format":"svc.evidence.v1","protected":"","payload":"","signature":""}'
  ],
  words,
  run: async (input) => {
    const read = verifyEvidenceBytes(input, keySet)
    if (Result.isSuccess(read)) {
      const text = JSON.parse(latin1Of(input)).payload
      demand(
        read.success.payloadText === textOf(decodeBase64Url(text) ?? new Uint8Array()),
        "another payload is given"
      )
      demand(read.success.payload.schema === "svc.evidence.v1", "a payload of another schema is taken")
    }
    const report = await verifyEvidence(input, keySet, { now: NOW })
    if (report.verdict !== "valid") return
    demand(Result.isSuccess(read), "two verifiers differ")
    demand(Result.isSuccess(read) && read.success.payloadText === payload, "what was not signed is valid")
  }
}

/** Payloads as whoever has the key can sign them: nothing that is said twice may differ. */
export const evidencePayloads: FuzzTarget = {
  seeds: [payload, payload.slice(0, 4000), '{"schema":"svc.evidence.v1","events":[]}'],
  words,
  run: async (input) => {
    const text = textOf(input)
    const signed = signPayload(text)
    const report = await verifyEvidence(written(signed), keySet, { now: NOW })
    if (report.verdict !== "valid" || report.proved === undefined) return
    const said = JSON.parse(text)
    demand(said.mandate.state === report.proved.mandate.state, "what is proved is not what is said")
    demand(
      said.head.hash === report.proved.head.hash && said.events.at(-1).hash === said.head.hash,
      "another head is proved"
    )
  }
}
