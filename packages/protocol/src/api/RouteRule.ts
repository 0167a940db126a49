import { Context } from "effect"

/** What a route asks of a request before its own rules (parts 2, 3 and 9). */
export interface RouteRule {
  /** Scope that the API key must have. Absent: no API key is asked for. */
  readonly scope?: "read" | "write" | "webhooks"
  readonly idempotencyKey: "none" | "optional" | "required"
  /** `empty`: the body has no members, so no body and `{}` are the same input. */
  readonly body: "none" | "empty" | "members"
  /** Media type of the response. Default `application/json`. */
  readonly mediaType?: string
}

/** No API key, nothing read but the path. */
export const PUBLIC: RouteRule = { idempotencyKey: "none", body: "none" }
export const READ: RouteRule = { scope: "read", idempotencyKey: "none", body: "none" }
/** A lifecycle write: a body with members, under an idempotency key. */
export const LIFECYCLE_WRITE: RouteRule = { scope: "write", idempotencyKey: "required", body: "members" }
/** A write that is the same however often it is made. */
export const PLAIN_WRITE: RouteRule = { scope: "write", idempotencyKey: "none", body: "empty" }

/** Annotation of an endpoint. */
export const RouteRule = Context.Reference<RouteRule>("@svc/protocol/api/RouteRule", {
  defaultValue: () => PUBLIC
})
