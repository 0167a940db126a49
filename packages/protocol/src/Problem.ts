import { Schema } from "effect"
import { described } from "./Described.ts"
import { integerBetween } from "./Mandate.ts"

/** Media type of every error response (RFC 9457). */
export const PROBLEM_MEDIA_TYPE = "application/problem+json"
/** Most entries of `errors` in one problem. */
export const MAX_PROBLEM_ERRORS = 100

interface ProblemKind {
  readonly status: number
  readonly title: string
  /** Whether the same request may succeed later without a change. */
  readonly retryable: boolean
  /** Why the code occurs, in a sentence. It is the `detail` of a response that has no other. */
  readonly cause: string
  /** A rarer cause, for the problem pages. A response to which it applies has its own `detail`. */
  readonly otherCause?: string
  /** What the caller does about it, in a sentence. */
  readonly remedy: string
}

const kind = (
  status: number,
  title: string,
  cause: string,
  remedy: string,
  retryable = false
): ProblemKind => ({ status, title, retryable, cause, remedy })

/** Every problem code of the interface (part 2), with the text of its page. */
export const PROBLEMS = {
  malformed_json: kind(
    400,
    "The body is not acceptable JSON",
    "The body is not JSON in UTF-8, repeats a member name, nests deeper than 32 levels, or holds a number that cannot be kept exactly.",
    "Send one JSON value in UTF-8 without a byte order mark, each member name once, integers of at most 2^53-1."
  ),
  malformed_request: kind(
    400,
    "The request is malformed",
    "The request line, a header or the query is not in the form the route takes.",
    "Send each header once, percent-encode the path correctly, and use only the query parameters that the route documents."
  ),
  idempotency_key_required: kind(
    400,
    "An Idempotency-Key is required",
    "This write needs an Idempotency-Key header and none was sent.",
    "Send a key of your own for each logical operation, and the same key when you repeat the operation."
  ),
  idempotency_key_invalid: kind(
    400,
    "The Idempotency-Key is not valid",
    "The key is empty, longer than 255 characters, or has characters other than visible ASCII.",
    "Send 1 to 255 visible ASCII characters, for example a UUID."
  ),
  invalid_cursor: {
    ...kind(
      400,
      "The cursor is not valid",
      "The cursor was not issued for this list and these filters.",
      "Start again without a cursor and go on with the next_cursor of each answer. A cursor that was refused is never taken again. If the history changed, pass over events whose ids you have; an event that you have and are not given again was lost: settle with the service's operator what you did on the strength of it."
    ),
    otherCause:
      "Or, when detail says so, the history that it was given in has not become the store's: the service was put back to an earlier state of its data, and what you read up to this cursor may be gone."
  },
  authentication_required: kind(
    401,
    "An API key is required",
    "The request carries no bearer API key.",
    "Send Authorization: Bearer <API key>."
  ),
  api_key_invalid: kind(
    401,
    "The API key is not valid",
    "The key is unknown, revoked, expired, or belongs to another environment.",
    "Check which key and which base address you use; make a new key if it was revoked."
  ),
  scope_insufficient: kind(
    403,
    "The API key lacks a scope",
    "The key is valid, and its scopes do not cover this operation.",
    "Use a key that has the scope named in detail."
  ),
  billing_account_required: kind(
    403,
    "A billing account is required",
    "Live keys work only while a billing account is linked to the organization.",
    "Have a billing account linked, or use the test environment."
  ),
  origin_not_allowed: kind(
    403,
    "The origin is not allowed",
    "The request was not sent by the approval page itself.",
    "Open the approval page from its own address and act there."
  ),
  not_found: kind(
    404,
    "Not found",
    "There is no such route, or no such resource in this organization.",
    "Check the path and the identifier, and which organization's key you use."
  ),
  method_not_allowed: kind(
    405,
    "The method is not allowed",
    "The path exists and does not take this method.",
    "Use one of the methods named in the Allow header."
  ),
  not_acceptable: kind(
    406,
    "No acceptable representation",
    "The Accept header excludes every type that the route answers with.",
    "Accept application/json, or the type that the route documents."
  ),
  request_timeout: kind(
    408,
    "The request took too long",
    "The whole request did not arrive within 30 seconds.",
    "Send the request again, under the same Idempotency-Key if it is a write.",
    true
  ),
  idempotency_key_reused: kind(
    409,
    "The Idempotency-Key was used with different input",
    "The key already served another request of the organization, to this or another operation.",
    "Use a new key for each new request. To repeat the first request, send it unchanged to the same operation under this key."
  ),
  terminal_state_conflict: kind(
    409,
    "The authorization has another outcome",
    "The authorization already ended otherwise, and terminal outcomes never change.",
    "Treat it as an incident: read the authorization and reconcile it with your provider."
  ),
  state_conflict: kind(
    409,
    "The state does not allow this",
    "The resource that resource_id names is in a state, current_state, in which the operation has no meaning: a mandate that has ended, a webhook endpoint that is disabled or deleted, a delivery that has not ended.",
    "Read the resource and decide from its current state. Make a disabled webhook endpoint active again with PUT /v1/webhook-endpoints/{webhook_endpoint_id}/reactivation; in place of a deleted one, register another."
  ),
  commitment_reused: kind(
    409,
    "The commitment was used before",
    "A commitment belongs to the first authorization that carried it.",
    "Draw a fresh 32-byte opening for each proposal."
  ),
  assertion_replayed: kind(
    409,
    "The identity assertion was used before",
    "The jti of an identity assertion is good for one approval session.",
    "Authenticate the user and issue a fresh assertion."
  ),
  mandate_limit_reached: kind(
    409,
    "A limit of the mandate is reached",
    "The mandate holds as many open reservations, authorizations, reports or journal bytes as it may.",
    "Close open authorizations, or create another mandate."
  ),
  webhook_endpoint_limit_reached: kind(
    409,
    "Too many webhook endpoints",
    "An organization has at most five endpoints that are not deleted.",
    "Delete an endpoint that is no longer needed."
  ),
  approval_session_bound: kind(
    409,
    "The approval is open in another browser",
    "The approval session belongs to the browser that began it.",
    "Go on in that browser, or ask the sender for a new link."
  ),
  approval_session_closed: kind(
    410,
    "The approval link is closed",
    "The link was used, replaced, has expired, or never existed.",
    "Go back to where you came from and ask for a new link."
  ),
  payload_too_large: kind(
    413,
    "The body is too large",
    "A request body may have at most 64 KiB.",
    "Send less; nothing in the interface needs more."
  ),
  unsupported_media_type: kind(
    415,
    "The media type is not supported",
    "A body must be application/json, uncompressed.",
    "Send Content-Type: application/json and no Content-Encoding."
  ),
  expectation_failed: kind(
    417,
    "The expectation cannot be met",
    "The Expect header names something other than 100-continue.",
    "Leave the Expect header out."
  ),
  validation_failed: kind(
    422,
    "The request is not valid",
    "One or more members are missing, unknown, of the wrong type or outside their bounds.",
    "Correct each member named in errors; its pointer says where it is."
  ),
  enrolment_not_allowed: kind(
    422,
    "A new passkey is not allowed here",
    "The subject may not create a passkey in this session.",
    "Use the subject's passkey, or issue an identity assertion with svc_enrol: true if your organization lets you."
  ),
  commitment_mismatch: kind(
    422,
    "The opening does not fit the commitment",
    "The SHA-256 of the domain line and the opening is not the commitment of this authorization.",
    "Send the 32-byte opening that you drew for this authorization."
  ),
  identity_assertion_invalid: kind(
    422,
    "The identity assertion is not valid",
    "Its signature, issuer, audience, times or identifier do not meet what the organization configured.",
    "Issue a fresh assertion signed with a registered key, with iss, sub, aud, exp, iat and jti."
  ),
  subject_mismatch: kind(
    422,
    "The assertion is for another subject",
    "The subject of the identity assertion is not the mandate's subject_reference.",
    "Authenticate the user for whom the mandate was created."
  ),
  return_url_not_allowed: kind(
    422,
    "The return_url is not allowed",
    "The return_url is not an address of a registered origin (https, or http://localhost where the deployment allows it).",
    "Use an address of a registered origin: scheme, host and port must match exactly."
  ),
  webhook_target_not_allowed: kind(
    422,
    "The webhook target is not allowed",
    "The target is not an HTTPS address that resolves to public addresses only; detail says what is wrong with its text.",
    "Use a public HTTPS address by name, on port 443 or 1024 to 65535. A name that was just set up may take a while to resolve."
  ),
  passkey_verification_failed: kind(
    422,
    "The passkey could not be verified",
    "What the passkey signed could not be verified for this approval; nothing was approved.",
    "Begin the ceremony again and use the passkey of this account."
  ),
  refund_exceeds_committed: kind(
    422,
    "The refunds exceed the committed amount",
    "The sum of the reported refunds would be over what was committed.",
    "Check the refunds already reported on the authorization."
  ),
  rate_limited: kind(
    429,
    "Too many requests",
    "The API key, or the address without a valid one, sent more requests than its rate allows.",
    "Wait as long as Retry-After says.",
    true
  ),
  headers_too_large: kind(
    431,
    "The headers are too large",
    "The header section may have at most 16 KiB.",
    "Send fewer or shorter headers."
  ),
  internal_error: kind(
    500,
    "An internal error occurred",
    "Something unexpected failed; it was logged under the request id.",
    "Repeat the request, under the same Idempotency-Key if it is a write, and report the request id if it goes on.",
    true
  ),
  store_unavailable: kind(
    503,
    "The store is unavailable",
    "What is recorded could not be read or written, or the keys at the organization's jwks_uri could not be fetched, so nothing is answered from guesses.",
    "Repeat the request after Retry-After, under the same Idempotency-Key if it is a write.",
    true
  )
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof PROBLEMS

/** Every cause of a problem, in words. */
export const causesOf = (code: ProblemCode): string => {
  const { cause, otherCause }: ProblemKind = PROBLEMS[code]
  return otherCause === undefined ? cause : `${cause} ${otherCause}`
}

/** What a problem's page says about repeating the request. */
export const repetitionOf = (code: ProblemCode): string =>
  PROBLEMS[code].retryable ? "may be retried" : "do not retry unchanged"

export const PROBLEM_CODES = Object.keys(PROBLEMS) as ReadonlyArray<ProblemCode>

/** One fault of a member: where it is (RFC 6901), what kind of fault, and what to do. */
export const MemberFault = Schema.Struct({
  pointer: described(
    Schema.String,
    "RFC 6901 pointer to the member in the request's body; empty for the body itself.",
    "/policy/currency"
  ),
  code: described(
    Schema.String,
    "Kind of the fault: required, unknown_member, invalid_type, invalid_value.",
    "invalid_value"
  ),
  detail: described(Schema.String, "What the member must be, in words.", "Must be a current ISO 4217 code.")
})
export type MemberFault = typeof MemberFault.Type

/** The body of an error response (RFC 9457 with the members of part 2). */
export const Problem = Schema.Struct({
  type: described(
    Schema.String,
    "Address of the page that says what the problem means and what to do.",
    "https://api.example/problems/validation-failed"
  ),
  title: described(Schema.String, "What the code means, in a few words.", "The request is not valid"),
  status: described(integerBetween(400, 599), "The HTTP status.", 422),
  detail: described(
    Schema.String,
    "What is wrong with this very request, for people. Its words may change.",
    "One or more members are missing, unknown, of the wrong type or outside their bounds."
  ),
  instance: Schema.optionalKey(
    described(Schema.String, "Template of the route; absent where no route matched.", "/v1/mandates")
  ),
  code: described(
    Schema.Literals(PROBLEM_CODES as ReadonlyArray<ProblemCode>),
    "What to go by in a program. New codes may be added: go by the status of one that you do not know.",
    "validation_failed"
  ),
  request_id: described(
    Schema.String,
    "X-Request-Id of the answer; give it to support.",
    "0b5c1a52-9d3f-4b1e-8a77-3f1c2d4e5f60"
  ),
  retryable: described(
    Schema.Boolean,
    "Whether the same request, under the same Idempotency-Key, may succeed later without a change.",
    false
  ),
  errors: Schema.optionalKey(
    described(
      Schema.Array(MemberFault),
      `One entry for each fault of the body, at most ${MAX_PROBLEM_ERRORS}. Only with validation_failed.`
    )
  ),
  current_state: Schema.optionalKey(
    described(
      Schema.String,
      "State of the resource that resource_id names. Only with state_conflict and terminal_state_conflict.",
      "EXPIRED"
    )
  ),
  resource_id: Schema.optionalKey(
    described(
      Schema.String,
      "The resource in whose way the request was. Only with state_conflict and terminal_state_conflict.",
      "aut_01kbcd2e3f4g5h6j7k8m9npqrs"
    )
  )
})
export type Problem = typeof Problem.Type

/** The path of a problem's page: the code with hyphens. */
export const problemPath = (code: ProblemCode): string => `/problems/${code.replaceAll("_", "-")}`
