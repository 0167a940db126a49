import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EvidenceEnvelope } from "../EvidenceEnvelope.ts"
import { readProblems } from "./ApiProblems.ts"
import { mandateParams } from "./RequestParts.ts"
import { READ, RouteRule } from "./RouteRule.ts"

/** Media type of the evidence envelope (part 4 of the interface). */
export const EVIDENCE_MEDIA_TYPE = "application/jose+json"

const read = HttpApiEndpoint.get("read", "/v1/mandates/:mandate_id/evidence", {
  params: mandateParams,
  success: EvidenceEnvelope.annotate({ identifier: "EvidenceEnvelope" }).pipe(
    HttpApiSchema.asJson({ contentType: EVIDENCE_MEDIA_TYPE })
  ),
  error: readProblems("not_found")
})
  .annotate(RouteRule, { ...READ, mediaType: EVIDENCE_MEDIA_TYPE })
  .annotate(OpenApi.Summary, "Read the signed evidence of a mandate")

/** Signed evidence (part 7). */
export class EvidenceApi extends HttpApiGroup.make("evidence").add(read) {}
