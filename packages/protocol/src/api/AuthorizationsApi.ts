import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Authorization,
  AuthorizationStateName,
  CancellationBody,
  CommitBody,
  CreateAuthorizationBody,
  RefundBody
} from "../Authorization.ts"
import { CALLER_DUTIES } from "../CallerDuties.ts"
import { described } from "../Described.ts"
import { KEYED_ROUTES } from "../request/KeyedRoute.ts"
import { listPage } from "../request/ListPage.ts"
import { lifecycleProblems, readProblems } from "./ApiProblems.ts"
import { authorizationParams, idempotencyHeader, listQuery, mandateParams } from "./RequestParts.ts"
import { pathOf } from "./RoutePath.ts"
import { LIFECYCLE_WRITE, READ, RouteRule } from "./RouteRule.ts"

const AuthorizationResource = Authorization.annotate({
  identifier: "Authorization",
  description: "A proposed action, the decision on it, and what became of it."
})

const propose = HttpApiEndpoint.post("propose", pathOf(KEYED_ROUTES.createAuthorization), {
  params: mandateParams,
  headers: idempotencyHeader,
  payload: CreateAuthorizationBody.annotate({ identifier: "CreateAuthorization" }),
  success: AuthorizationResource.pipe(HttpApiSchema.status(201)),
  error: lifecycleProblems("not_found", "commitment_reused", "mandate_limit_reached")
})
  .annotate(OpenApi.Identifier, "createAuthorization")
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Propose an action")
  .annotate(
    OpenApi.Description,
    `It is decided at once, and on ALLOW its amount is reserved. The answer is 201 for every decision, and every decision enters the journal. ${CALLER_DUTIES.executionGate}`
  )

const list = HttpApiEndpoint.get("list", "/v1/mandates/:mandate_id/authorizations", {
  params: mandateParams,
  query: {
    ...listQuery,
    state: Schema.optionalKey(
      described(AuthorizationStateName, "Only authorizations in this state.", "RESERVED")
    )
  },
  success: listPage(AuthorizationResource).annotate({ identifier: "AuthorizationPage" }),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(OpenApi.Identifier, "listAuthorizations")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List authorizations")
  .annotate(OpenApi.Description, "Of a mandate, newest first; refused proposals too.")

const read = HttpApiEndpoint.get("read", "/v1/authorizations/:authorization_id", {
  params: authorizationParams,
  success: AuthorizationResource,
  error: readProblems("not_found")
})
  .annotate(OpenApi.Identifier, "getAuthorization")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "Read an authorization")
  .annotate(
    OpenApi.Description,
    `In its current state. Read it right before you execute, and whenever an outcome is uncertain. ${CALLER_DUTIES.executionGate}`
  )

const commit = HttpApiEndpoint.put("commit", pathOf(KEYED_ROUTES.commitAuthorization), {
  params: authorizationParams,
  headers: idempotencyHeader,
  payload: CommitBody.annotate({ identifier: "CommitAuthorization" }),
  success: AuthorizationResource,
  error: lifecycleProblems(
    "not_found",
    "terminal_state_conflict",
    "mandate_limit_reached",
    "commitment_mismatch"
  )
})
  .annotate(OpenApi.Identifier, "commitAuthorization")
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Commit an authorization")
  .annotate(
    OpenApi.Description,
    `Report that your provider definitely accepted the action; whether it settles is another matter. The same content again is the same commit. ${CALLER_DUTIES.conflictIsIncident}`
  )

const cancel = HttpApiEndpoint.put("cancel", pathOf(KEYED_ROUTES.cancelAuthorization), {
  params: authorizationParams,
  headers: idempotencyHeader,
  payload: CancellationBody.annotate({ identifier: "CancelAuthorization" }),
  success: AuthorizationResource,
  error: lifecycleProblems("not_found", "terminal_state_conflict", "mandate_limit_reached")
})
  .annotate(OpenApi.Identifier, "cancelAuthorization")
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Cancel an authorization")
  .annotate(
    OpenApi.Description,
    `Report that the action cannot occur any more, only once you have made sure of it by controls of your own: the service records what you say, and can disable nothing at your provider. ${CALLER_DUTIES.conflictIsIncident}`
  )

const reportRefund = HttpApiEndpoint.post("reportRefund", pathOf(KEYED_ROUTES.reportRefund), {
  params: authorizationParams,
  headers: idempotencyHeader,
  payload: RefundBody.annotate({ identifier: "ReportRefund" }),
  success: AuthorizationResource.pipe(HttpApiSchema.status(201)),
  error: lifecycleProblems("not_found", "state_conflict", "mandate_limit_reached", "refund_exceeds_committed")
})
  .annotate(OpenApi.Identifier, "reportRefund")
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Report a refund")
  .annotate(
    OpenApi.Description,
    "Of a committed authorization. It is recorded, restores no budget, and changes no state. Each key is a report of its own."
  )

/** Proposals, their decisions and their outcomes (part 5). */
export class AuthorizationsApi extends HttpApiGroup.make("authorizations")
  .add(propose, list, read, commit, cancel, reportRefund)
  .annotate(OpenApi.Title, "Authorizations")
  .annotate(
    OpenApi.Description,
    "Proposed actions, the decisions on them, and the outcomes that you report. A terminal state never changes."
  ) {}
