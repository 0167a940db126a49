import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApprovalSession, CreateApprovalSessionBody } from "../ApprovalSession.ts"
import { CALLER_DUTIES } from "../CallerDuties.ts"
import { described } from "../Described.ts"
import { JournalEvent } from "../Journal.ts"
import { CreateMandateBody, Mandate, MandateStateName, PeriodEntry, RevokeMandateBody } from "../Mandate.ts"
import { KEYED_ROUTES } from "../request/KeyedRoute.ts"
import { listPage } from "../request/ListPage.ts"
import { Text } from "../Text.ts"
import { requestTimestamp } from "../TimestampSchema.ts"
import { lifecycleProblems, readProblems } from "./ApiProblems.ts"
import { idempotencyHeader, listQuery, mandateParams, periodsLimit } from "./RequestParts.ts"
import { pathOf } from "./RoutePath.ts"
import { LIFECYCLE_WRITE, READ, RouteRule } from "./RouteRule.ts"

const MandateResource = Mandate.annotate({
  identifier: "Mandate",
  description: "What an end user is asked to allow, its state, and what is used of it."
})
const ApprovalSessionResource = ApprovalSession.annotate({
  identifier: "ApprovalSession",
  description: "One opportunity to approve a mandate, in the browser of its subject."
})

const create = HttpApiEndpoint.post("create", pathOf(KEYED_ROUTES.createMandate), {
  headers: idempotencyHeader,
  payload: CreateMandateBody.annotate({ identifier: "CreateMandate" }),
  success: MandateResource.pipe(HttpApiSchema.status(201)),
  error: lifecycleProblems()
})
  .annotate(OpenApi.Identifier, "createMandate")
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Create a mandate")
  .annotate(
    OpenApi.Description,
    "It is PENDING_APPROVAL until its subject approves or declines it, or approval_deadline passes."
  )

const list = HttpApiEndpoint.get("list", "/v1/mandates", {
  query: {
    ...listQuery,
    state: Schema.optionalKey(described(MandateStateName, "Only mandates in this state.", "ACTIVE")),
    subject_reference: Schema.optionalKey(
      described(Text, "Only mandates of this subject, compared exactly.", "user_8f2")
    )
  },
  success: listPage(MandateResource).annotate({ identifier: "MandatePage" }),
  error: readProblems("invalid_cursor")
})
  .annotate(OpenApi.Identifier, "listMandates")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List mandates")
  .annotate(
    OpenApi.Description,
    "Newest first. A transition that is due is recorded before it is shown, so a state is never out of date."
  )

const read = HttpApiEndpoint.get("read", "/v1/mandates/:mandate_id", {
  params: mandateParams,
  success: MandateResource,
  error: readProblems("not_found")
})
  .annotate(OpenApi.Identifier, "getMandate")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "Read a mandate")
  .annotate(
    OpenApi.Description,
    "In its current state. Read it after the browser has come back from an approval: the return alone proves nothing."
  )

const revoke = HttpApiEndpoint.put("revoke", pathOf(KEYED_ROUTES.revokeMandate), {
  params: mandateParams,
  headers: idempotencyHeader,
  payload: RevokeMandateBody.annotate({ identifier: "RevokeMandate" }),
  success: MandateResource,
  error: lifecycleProblems("not_found", "state_conflict", "mandate_limit_reached")
})
  .annotate(OpenApi.Identifier, "revokeMandate")
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Revoke a mandate")
  .annotate(
    OpenApi.Description,
    "From any state that is not terminal. Open reservations stay RESERVED with can_execute false, and can still be committed or cancelled, since money may have moved."
  )

const periods = HttpApiEndpoint.get("periods", "/v1/mandates/:mandate_id/periods", {
  params: mandateParams,
  query: {
    from: Schema.optionalKey(
      requestTimestamp(
        "The first period of each entry contains this instant; default now, and never before the window.",
        "2027-01-01T00:00:00Z"
      )
    ),
    limit: Schema.optionalKey(periodsLimit)
  },
  success: Schema.Struct({
    data: described(
      Schema.Array(PeriodEntry.annotate({ identifier: "BudgetPeriod" })),
      "By entry of policy.periods, each oldest first; empty for SINGLE. None begins at or after window.ends_at."
    )
  }).annotate({ identifier: "BudgetPeriods", description: "The budget periods of the mandate." }),
  error: readProblems("not_found")
})
  .annotate(OpenApi.Identifier, "listMandatePeriods")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List budget periods")
  .annotate(
    OpenApi.Description,
    "Past and coming boundaries and caps; what is used of the current ones is in the mandate's usage. It has no cursor: go on with from."
  )

const events = HttpApiEndpoint.get("events", "/v1/mandates/:mandate_id/events", {
  params: mandateParams,
  query: listQuery,
  success: listPage(
    JournalEvent.annotate({
      identifier: "JournalEvent",
      description: "An event of a mandate's journal, as it was hashed."
    })
  ).annotate({ identifier: "JournalPage" }),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(OpenApi.Identifier, "listMandateEvents")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List the journal of a mandate")
  .annotate(
    OpenApi.Description,
    "Oldest first: everything that happened to the mandate and its authorizations, each event hashed and chained to the one before."
  )

const createApprovalSession = HttpApiEndpoint.post(
  "createApprovalSession",
  pathOf(KEYED_ROUTES.createApprovalSession),
  {
    params: mandateParams,
    headers: idempotencyHeader,
    payload: CreateApprovalSessionBody.annotate({ identifier: "CreateApprovalSession" }),
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
  .annotate(OpenApi.Identifier, "createApprovalSession")
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Create an approval session")
  .annotate(
    OpenApi.Description,
    `Only while the mandate is PENDING_APPROVAL. An earlier open session is superseded. The link works for 5 minutes, once. ${CALLER_DUTIES.secretApprovalUrl} A session that expired is not recovered: authenticate the user again and create another.`
  )

/** Mandates and what leads to their approval (parts 4 and 6). */
export class MandatesApi extends HttpApiGroup.make("mandates")
  .add(create, createApprovalSession, read, list, periods, events, revoke)
  .annotate(OpenApi.Title, "Mandates")
  .annotate(
    OpenApi.Description,
    "What an end user is asked to allow, and how they approve it. A mandate is immutable: to change one, revoke it and create another."
  ) {}
