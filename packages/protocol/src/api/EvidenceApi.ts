import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CALLER_DUTIES } from "../CallerDuties.ts"
import { EvidenceContinuation, EvidenceEnvelope } from "../evidence/EvidenceEnvelope.ts"
import { integerBetween, MAX_SAFE_INTEGER } from "../Mandate.ts"
import { readProblems } from "./ApiProblems.ts"
import { mandateParams } from "./RequestParts.ts"
import { READ, RouteRule } from "./RouteRule.ts"

/** Media type of the evidence envelope (part 7). */
export const EVIDENCE_MEDIA_TYPE = "application/jose+json"

const read = HttpApiEndpoint.get("read", "/v1/mandates/:mandate_id/evidence", {
  params: mandateParams,
  query: {
    after_seq: Schema.optionalKey(integerBetween(1, MAX_SAFE_INTEGER))
  },
  success: Schema.Union([
    EvidenceEnvelope.annotate({
      identifier: "EvidenceEnvelope",
      description: "A flattened JWS with a format: exactly these four members, and nothing else."
    }),
    EvidenceContinuation.annotate({
      identifier: "EvidenceContinuation",
      description: "The answer to after_seq: the same envelope under a format of its own."
    })
  ]).pipe(HttpApiSchema.asJson({ contentType: EVIDENCE_MEDIA_TYPE })),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(OpenApi.Identifier, "getEvidence")
  .annotate(RouteRule, { ...READ, mediaType: EVIDENCE_MEDIA_TYPE })
  .annotate(OpenApi.Summary, "Read the evidence of a mandate")
  .annotate(
    OpenApi.Description,
    `The mandate, its approval and every event up to now, under the current signing key. Large evidence is sent while it is made: an answer that breaks off is no evidence. With Accept-Encoding: gzip it is a fifth as long. Verify the signature before you decode or trust the payload. ${CALLER_DUTIES.evidenceIsIncident}`
  )

/** Signed evidence (part 7). */
export class EvidenceApi extends HttpApiGroup.make("evidence")
  .add(read)
  .annotate(OpenApi.Title, "Evidence")
  .annotate(OpenApi.Description, "What was allowed and what happened, signed, to be verified offline.") {}
