import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApprovalSession, CreateApprovalSessionBody } from "../ApprovalSession.ts"
import { JournalEvent } from "../Journal.ts"
import { listPage } from "../ListPage.ts"
import { CreateMandateBody, Mandate, MandateStateName, PeriodEntry, RevokeMandateBody } from "../Mandate.ts"
import { Text } from "../Text.ts"
import { Timestamp } from "../Timestamp.ts"
import { lifecycleProblems, readProblems } from "./ApiProblems.ts"
import { idempotencyHeader, listQuery, mandateParams, periodsLimit } from "./RequestParts.ts"
import { LIFECYCLE_WRITE, READ, RouteRule } from "./RouteRule.ts"

const MandateResource = Mandate.annotate({ identifier: "Mandate" })
const ApprovalSessionResource = ApprovalSession.annotate({ identifier: "ApprovalSession" })

const create = HttpApiEndpoint.post("create", "/v1/mandates", {
  headers: idempotencyHeader,
  payload: CreateMandateBody,
  success: MandateResource.pipe(HttpApiSchema.status(201)),
  error: lifecycleProblems()
})
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Create a mandate, to be approved by its subject")

const list = HttpApiEndpoint.get("list", "/v1/mandates", {
  query: {
    ...listQuery,
    state: Schema.optionalKey(MandateStateName),
    subject_reference: Schema.optionalKey(Text)
  },
  success: listPage(MandateResource),
  error: readProblems("invalid_cursor")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List mandates, newest first")

const read = HttpApiEndpoint.get("read", "/v1/mandates/:mandate_id", {
  params: mandateParams,
  success: MandateResource,
  error: readProblems("not_found")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "Read a mandate in its current state")

const revoke = HttpApiEndpoint.put("revoke", "/v1/mandates/:mandate_id/revocation", {
  params: mandateParams,
  headers: idempotencyHeader,
  payload: RevokeMandateBody,
  success: MandateResource,
  error: lifecycleProblems("not_found", "state_conflict", "mandate_limit_reached")
})
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Revoke a mandate")

const periods = HttpApiEndpoint.get("periods", "/v1/mandates/:mandate_id/periods", {
  params: mandateParams,
  query: { from: Schema.optionalKey(Timestamp), limit: Schema.optionalKey(periodsLimit) },
  success: Schema.Struct({ data: Schema.Array(PeriodEntry) }),
  error: readProblems("not_found")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List the budget periods of a mandate, by period of its policy")

const events = HttpApiEndpoint.get("events", "/v1/mandates/:mandate_id/events", {
  params: mandateParams,
  query: listQuery,
  success: listPage(JournalEvent.annotate({ identifier: "JournalEvent" })),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List the journal of a mandate, oldest first")

const createApprovalSession = HttpApiEndpoint.post(
  "createApprovalSession",
  "/v1/mandates/:mandate_id/approval-sessions",
  {
    params: mandateParams,
    headers: idempotencyHeader,
    payload: CreateApprovalSessionBody,
    success: ApprovalSessionResource.pipe(HttpApiSchema.status(201)),
    error: lifecycleProblems(
      "not_found",
      "state_conflict",
      "assertion_replayed",
      "mandate_limit_reached",
      "return_url_not_allowed",
      "identity_assertion_invalid",
      "subject_mismatch",
      "enrolment_not_allowed"
    )
  }
)
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Create an approval session; an earlier open one is superseded")

/** Mandates and what leads to their approval (parts 4 and 6). */
export class MandatesApi extends HttpApiGroup.make("mandates").add(
  create,
  list,
  read,
  revoke,
  periods,
  events,
  createApprovalSession
) {}
