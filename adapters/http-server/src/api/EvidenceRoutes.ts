import { readEvidence } from "@svc/domain/programs/Evidence"
import { EvidenceApi } from "@svc/protocol/api/EvidenceApi"
import { Effect } from "effect"
import { answer } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"

/** Signed evidence (part 7). */
export const evidenceRoutes = groupRoutes(EvidenceApi, {
  read: ({ organization, params }) =>
    Effect.map(readEvidence({ organization: organization.id, mandateId: params.mandate_id }), answer)
})
