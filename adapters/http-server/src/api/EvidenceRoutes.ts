import { openContinuation, openEvidence } from "@svc/domain/programs/Evidence"
import { EvidenceApi } from "@svc/protocol/api/EvidenceApi"
import { Effect } from "effect"
import { evidenceAnswer } from "./EvidenceAnswer.ts"
import { groupRoutes } from "./GroupRoutes.ts"

/** Signed evidence (part 7). */
export const evidenceRoutes = groupRoutes(EvidenceApi, {
  read: ({ headers, organization, params, query }) =>
    Effect.gen(function* () {
      const mandate = { organization: organization.id, mandateId: params.mandate_id }
      const reading = yield* query.after_seq === undefined
        ? openEvidence(mandate)
        : openContinuation({ ...mandate, afterSeq: query.after_seq })
      return yield* evidenceAnswer(reading, headers["accept-encoding"])
    })
})
