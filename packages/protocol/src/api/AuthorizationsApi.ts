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
import { listPage } from "../ListPage.ts"
import { lifecycleProblems, readProblems } from "./ApiProblems.ts"
import { authorizationParams, idempotencyHeader, listQuery, mandateParams } from "./RequestParts.ts"
import { LIFECYCLE_WRITE, READ, RouteRule } from "./RouteRule.ts"

const AuthorizationResource = Authorization.annotate({ identifier: "Authorization" })

const propose = HttpApiEndpoint.post("propose", "/v1/mandates/:mandate_id/authorizations", {
  params: mandateParams,
  headers: idempotencyHeader,
  payload: CreateAuthorizationBody,
  success: AuthorizationResource.pipe(HttpApiSchema.status(201)),
  error: lifecycleProblems("not_found", "commitment_reused", "mandate_limit_reached")
})
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Propose an action and receive a decision")

const list = HttpApiEndpoint.get("list", "/v1/mandates/:mandate_id/authorizations", {
  params: mandateParams,
  query: { ...listQuery, state: Schema.optionalKey(AuthorizationStateName) },
  success: listPage(AuthorizationResource),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List the authorizations of a mandate, newest first")

const read = HttpApiEndpoint.get("read", "/v1/authorizations/:authorization_id", {
  params: authorizationParams,
  success: AuthorizationResource,
  error: readProblems("not_found")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "Read an authorization in its current state")

const commit = HttpApiEndpoint.put("commit", "/v1/authorizations/:authorization_id/commit", {
  params: authorizationParams,
  headers: idempotencyHeader,
  payload: CommitBody,
  success: AuthorizationResource,
  error: lifecycleProblems(
    "not_found",
    "terminal_state_conflict",
    "mandate_limit_reached",
    "commitment_mismatch"
  )
})
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Report that the executor accepted the action")

const cancel = HttpApiEndpoint.put("cancel", "/v1/authorizations/:authorization_id/cancellation", {
  params: authorizationParams,
  headers: idempotencyHeader,
  payload: CancellationBody,
  success: AuthorizationResource,
  error: lifecycleProblems("not_found", "terminal_state_conflict", "mandate_limit_reached")
})
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Report that the action cannot occur any more")

const reportRefund = HttpApiEndpoint.post("reportRefund", "/v1/authorizations/:authorization_id/refunds", {
  params: authorizationParams,
  headers: idempotencyHeader,
  payload: RefundBody,
  success: AuthorizationResource.pipe(HttpApiSchema.status(201)),
  error: lifecycleProblems("not_found", "state_conflict", "mandate_limit_reached", "refund_exceeds_committed")
})
  .annotate(RouteRule, LIFECYCLE_WRITE)
  .annotate(OpenApi.Summary, "Report a refund; it restores no budget")

/** Proposals, their decisions and their outcomes (part 5). */
export class AuthorizationsApi extends HttpApiGroup.make("authorizations").add(
  propose,
  list,
  read,
  commit,
  cancel,
  reportRefund
) {}
