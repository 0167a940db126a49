import { readEvidence } from "@svc/domain/programs/Evidence"
import { EvidenceApi } from "@svc/protocol/api/EvidenceApi"
import type { EvidenceEnvelope } from "@svc/protocol/evidence/EvidenceEnvelope"
import { Effect } from "effect"
import { answer, JsonText } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"

/** Base64url needs no escapes in JSON, and `JSON.stringify` would scan a payload of tens of megabytes for some. */
const envelopeText = (envelope: EvidenceEnvelope): JsonText =>
  new JsonText(
    `{"format":"${envelope.format}","protected":"${envelope.protected}","payload":"${envelope.payload}","signature":"${envelope.signature}"}`
  )

/** Signed evidence (part 7). */
export const evidenceRoutes = groupRoutes(EvidenceApi, {
  read: ({ organization, params }) =>
    Effect.map(readEvidence({ organization: organization.id, mandateId: params.mandate_id }), (envelope) =>
      answer<EvidenceEnvelope>(envelopeText(envelope))
    )
})
