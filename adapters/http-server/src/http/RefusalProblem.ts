import type { IdentityKeysUnavailable } from "@svc/domain/ports/IdentityVerifier"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { SignerUnavailable } from "@svc/domain/ports/Signer"
import type * as Refusals from "@svc/domain/Refusals"
import {
  FIRST_UNPRIVILEGED_PORT,
  HTTPS_PORT,
  MAX_PORT,
  type TargetFormFault,
  WEBHOOK_TARGET_MAX_CHARACTERS
} from "@svc/domain/webhook/WebhookTarget"
import type { ProblemCode } from "@svc/protocol/Problem"
import { Effect } from "effect"
import { Refused } from "./ProblemResponse.ts"
import { stateConflictDetail } from "./StateConflictDetail.ts"

type InstanceOf<C> = C extends new (...args: never) => infer A ? A : never

/** Every failure of a program of the domain. */
export type DomainRefusal =
  | InstanceOf<(typeof Refusals)[keyof typeof Refusals]>
  | StoreUnavailable
  | SignerUnavailable
  | IdentityKeysUnavailable

/** The problem of each refusal (part 2). */
const CODES: { readonly [Tag in DomainRefusal["_tag"]]: ProblemCode } = {
  ValidationFailed: "validation_failed",
  OrganizationUnknown: "not_found",
  NotFound: "not_found",
  InvalidCursor: "invalid_cursor",
  HistoryChanged: "invalid_cursor",
  IdempotencyKeyRequired: "idempotency_key_required",
  IdempotencyKeyInvalid: "idempotency_key_invalid",
  IdempotencyKeyReused: "idempotency_key_reused",
  StateConflict: "state_conflict",
  TerminalStateConflict: "terminal_state_conflict",
  CommitmentReused: "commitment_reused",
  CommitmentMismatch: "commitment_mismatch",
  MandateLimitReached: "mandate_limit_reached",
  RefundExceedsCommitted: "refund_exceeds_committed",
  AssertionReplayed: "assertion_replayed",
  IdentityAssertionInvalid: "identity_assertion_invalid",
  SubjectMismatch: "subject_mismatch",
  ReturnUrlNotAllowed: "return_url_not_allowed",
  EnrolmentNotAllowed: "enrolment_not_allowed",
  ApprovalSessionClosed: "approval_session_closed",
  ApprovalSessionBound: "approval_session_bound",
  PasskeyVerificationFailed: "passkey_verification_failed",
  ApiKeyInvalid: "api_key_invalid",
  BillingAccountRequired: "billing_account_required",
  WebhookEndpointLimitReached: "webhook_endpoint_limit_reached",
  WebhookTargetNotAllowed: "webhook_target_not_allowed",
  StoreUnavailable: "store_unavailable",
  SignerUnavailable: "store_unavailable",
  IdentityKeysUnavailable: "store_unavailable"
}

const TARGET_FORM_DETAILS: { readonly [Fault in TargetFormFault]: string } = {
  too_long: `The url is longer than ${WEBHOOK_TARGET_MAX_CHARACTERS} characters once it is percent-encoded.`,
  forbidden_character: "The url contains a space, a control character or a backslash.",
  not_a_url: "The url is not a URL such as https://hooks.example.com/svc.",
  not_https:
    "The url must begin with https://: no other scheme is taken. A deployment of the test environment may allow http for this machine.",
  user_info: "The url must not carry a user or a password.",
  fragment: "The url must not have a fragment, since none would be sent.",
  port: `The port of the url must be ${HTTPS_PORT}, or ${FIRST_UNPRIVILEGED_PORT} to ${MAX_PORT}.`,
  ip_literal: "The host of the url must be a name, not an address.",
  single_label: "The host of the url must be a full name such as hooks.example.com, not a single label.",
  host: "The host of the url must be a plain name of letters, digits and hyphens (an international one as xn--), not ending in a dot or a number."
}

/** The same sentence for every result of the resolver, so that callers cannot probe internal names. */
const TARGET_NAME_DETAIL =
  "The host of the url does not resolve, or not to public addresses alone. If the name is new, register the endpoint once it does."

const HISTORY_CHANGED_DETAIL =
  "The history that this cursor was given in has not become the store's: the store was put back to an earlier state since then, and events that you have may be gone. No later answer takes this cursor. Begin again without it, pass over events whose ids you have, and look into those that you have and are not given again."

/** Default `Retry-After` of a 503, in seconds. */
const RETRY_AFTER_SECONDS = 1

/** The problem of a refusal. */
export const toRefused = (refusal: DomainRefusal): Refused => {
  const code = CODES[refusal._tag]
  switch (refusal._tag) {
    case "ValidationFailed":
      return new Refused({ code, errors: refusal.errors })
    case "StateConflict": {
      const { currentState, resourceId } = refusal
      const detail = stateConflictDetail(resourceId, currentState)
      return new Refused({ code, currentState, resourceId, ...(detail === undefined ? {} : { detail }) })
    }
    case "TerminalStateConflict":
      return new Refused({ code, currentState: refusal.currentState, resourceId: refusal.resourceId })
    case "WebhookTargetNotAllowed":
      return new Refused({
        code,
        detail: refusal.form === undefined ? TARGET_NAME_DETAIL : TARGET_FORM_DETAILS[refusal.form]
      })
    case "MandateLimitReached":
      return new Refused({ code, detail: refusal.detail })
    case "HistoryChanged":
      return new Refused({ code, detail: HISTORY_CHANGED_DETAIL })
    case "StoreUnavailable":
      return unavailable(refusal.retryAfterSeconds ?? RETRY_AFTER_SECONDS)
    case "IdentityKeysUnavailable":
      return unavailable(refusal.retryAfterSeconds)
    case "SignerUnavailable":
      return unavailable(RETRY_AFTER_SECONDS)
    default:
      return new Refused({ code })
  }
}

const unavailable = (seconds: number): Refused =>
  new Refused({ code: "store_unavailable", headers: { "retry-after": String(seconds) } })

type Unavailable = StoreUnavailable | SignerUnavailable | IdentityKeysUnavailable

const isUnavailable = (refusal: DomainRefusal): refusal is Unavailable =>
  CODES[refusal._tag] === "store_unavailable"

/** The part of the log message that says why. The log formats a `StoreUnavailable` itself, since its cause may quote rows. */
const loggedCause = (refusal: Unavailable): unknown =>
  refusal._tag === "StoreUnavailable" ? refusal : refusal.cause

/** Turns the refusals of a program into problems, and logs why something is unavailable. */
export const refusing = <A, R>(
  program: Effect.Effect<A, DomainRefusal | Refused, R>
): Effect.Effect<A, Refused, R> =>
  Effect.catch(program, (refusal) => {
    if (refusal._tag === "Refused") return Effect.fail(refusal)
    if (!isUnavailable(refusal)) return Effect.fail(toRefused(refusal))
    return Effect.andThen(
      Effect.logWarning("unavailable", refusal._tag, loggedCause(refusal)),
      Effect.fail(toRefused(refusal))
    )
  })
