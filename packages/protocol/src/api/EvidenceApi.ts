import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CALLER_DUTIES } from "../CallerDuties.ts"
import { EvidenceEnvelope } from "../evidence/EvidenceEnvelope.ts"
import { readProblems } from "./ApiProblems.ts"
import { mandateParams } from "./RequestParts.ts"
import { READ, RouteRule } from "./RouteRule.ts"

/** Media type of the evidence envelope (part 7). */
export const EVIDENCE_MEDIA_TYPE = "application/jose+json"

const read = HttpApiEndpoint.get("read", "/v1/mandates/:mandate_id/evidence", {
  params: mandateParams,
  success: EvidenceEnvelope.annotate({
    identifier: "EvidenceEnvelope",
    description: "A flattened JWS with a format: exactly these four members, and nothing else."
  }).pipe(HttpApiSchema.asJson({ contentType: EVIDENCE_MEDIA_TYPE })),
  error: readProblems("not_found")
})
  .annotate(OpenApi.Identifier, "getEvidence")
  .annotate(RouteRule, { ...READ, mediaType: EVIDENCE_MEDIA_TYPE })
  .annotate(OpenApi.Summary, "Read the evidence of a mandate")
  .annotate(
    OpenApi.Description,
    `The mandate, its approval and every event up to now, under the current signing key. Verify the signature before you decode or trust the payload. ${CALLER_DUTIES.evidenceIsIncident}`
  )

/** Signed evidence (part 7). */
export class EvidenceApi extends HttpApiGroup.make("evidence")
  .add(read)
  .annotate(OpenApi.Title, "Evidence")
  .annotate(OpenApi.Description, "What was allowed and what happened, signed, to be verified offline.") {}
