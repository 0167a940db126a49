/** Codes of the service's problem documents. */
export type ProblemCode =
  | "malformed_json"
  | "malformed_request"
  | "idempotency_key_required"
  | "idempotency_key_invalid"
  | "invalid_cursor"
  | "authentication_required"
  | "api_key_invalid"
  | "scope_insufficient"
  | "billing_account_required"
  | "origin_not_allowed"
  | "not_found"
  | "method_not_allowed"
  | "not_acceptable"
  | "request_timeout"
  | "idempotency_key_reused"
  | "terminal_state_conflict"
  | "state_conflict"
  | "commitment_reused"
  | "assertion_replayed"
  | "mandate_limit_reached"
  | "webhook_endpoint_limit_reached"
  | "approval_session_bound"
  | "approval_session_closed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "expectation_failed"
  | "validation_failed"
  | "enrolment_not_allowed"
  | "commitment_mismatch"
  | "identity_assertion_invalid"
  | "subject_mismatch"
  | "return_url_not_allowed"
  | "webhook_target_not_allowed"
  | "passkey_verification_failed"
  | "refund_exceeds_committed"
  | "rate_limited"
  | "headers_too_large"
  | "internal_error"
  | "store_unavailable"

/**
 * Codes of what the client finds out itself:
 *
 * - `invalid_argument`: what it was given cannot be sent; nothing was.
 * - `network_error`: no answer, or one that broke off.
 * - `timeout`: no answer within the time of an attempt.
 * - `aborted`: the caller's `AbortSignal`.
 * - `unexpected_response`: an answer that is not the service's, of a proxy for instance.
 * - `execution_not_allowed`: a condition for executing does not hold; nothing was run.
 * - `execution_repeated`: this client has run this authorization before; nothing was run again.
 * - `webhook_*`: the webhook is not authentic, or too old or too new to act on.
 */
export type ClientErrorCode =
  | "invalid_argument"
  | "network_error"
  | "timeout"
  | "aborted"
  | "unexpected_response"
  | "execution_not_allowed"
  | "execution_repeated"
  | "webhook_secret_malformed"
  | "webhook_signature_missing"
  | "webhook_signature_malformed"
  | "webhook_timestamp_out_of_tolerance"
  | "webhook_signature_mismatch"
  | "webhook_body_malformed"

/** One fault of a member of the request. */
export interface MemberFault {
  /** RFC 6901 pointer; empty for the body itself. */
  readonly pointer: string
  readonly code: string
  readonly detail: string
}

/** What an `SvcError` is made of; see there. */
export interface SvcErrorFields {
  readonly code: SvcError["code"]
  readonly message: string
  readonly status?: number | undefined
  readonly retryable?: boolean | undefined
  readonly errors?: ReadonlyArray<MemberFault> | undefined
  readonly requestId?: string | undefined
  readonly currentState?: string | undefined
  readonly resourceId?: string | undefined
  readonly retryAfter?: number | undefined
  readonly idempotencyKey?: string | undefined
  readonly cause?: unknown
}

/** Every failure of this package. Go by `code`; the words of `message` may change. */
export class SvcError extends Error {
  override readonly name = "SvcError"
  /** New codes may be added: go by `status` and `retryable` for one that you do not know. */
  readonly code: ProblemCode | ClientErrorCode | (string & {})
  /** HTTP status; absent when there was no answer. */
  readonly status: number | undefined
  /** Whether the same request, under the same idempotency key, may succeed later without a change. */
  readonly retryable: boolean
  /** With `validation_failed`: one entry for each fault. */
  readonly errors: ReadonlyArray<MemberFault>
  /** Names the request to whoever runs the service. */
  readonly requestId: string | undefined
  /** With a conflict of states: the state of what `resourceId` names. */
  readonly currentState: string | undefined
  readonly resourceId: string | undefined
  /** Seconds that the service asks to wait before another attempt. */
  readonly retryAfter: number | undefined
  /** The key of the write that failed. To repeat it, send the same input under this key. */
  readonly idempotencyKey: string | undefined

  constructor(fields: SvcErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = fields.code
    this.status = fields.status
    this.retryable = fields.retryable ?? false
    this.errors = fields.errors ?? []
    this.requestId = fields.requestId
    this.currentState = fields.currentState
    this.resourceId = fields.resourceId
    this.retryAfter = fields.retryAfter
    this.idempotencyKey = fields.idempotencyKey
  }
}

export const invalidArgument = (message: string): SvcError =>
  new SvcError({ code: "invalid_argument", message })

/** The error of a call whose signal was aborted before it began. */
export const abortedBeforehand = (cause: unknown): SvcError =>
  new SvcError({ code: "aborted", message: "The call was aborted before it began: nothing was done", cause })

/** The value, if it is within its bounds; throws `invalid_argument` otherwise, for what is no number too. */
export const numberWithin = (name: string, value: number, minimum: number, maximum: number): number => {
  if (value >= minimum && value <= maximum) return value
  throw invalidArgument(`${name} must be ${minimum} to ${maximum}`)
}
