import type { MemberFault, ProblemCode } from "@svc/protocol/Problem"
import { Effect } from "effect"
import type { IdentityKeysUnavailable } from "../ports/IdentityVerifier.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import type { SignerUnavailable } from "../ports/Signer.ts"
import type * as Refusals from "../Refusals.ts"
import {
  FIRST_UNPRIVILEGED_PORT,
  HTTPS_PORT,
  MAX_PORT,
  type TargetFormFault,
  WEBHOOK_TARGET_MAX_CHARACTERS
} from "../webhook/WebhookTarget.ts"
import { stateConflictDetail, terminalStateConflictDetail } from "./StateConflictDetail.ts"

type InstanceOf<C> = C extends new (...args: never) => infer A ? A : never

/** Every failure of a program of the domain. */
export type DomainRefusal =
  | InstanceOf<(typeof Refusals)[keyof typeof Refusals]>
  | StoreUnavailable
  | SignerUnavailable
  | IdentityKeysUnavailable

/** What a problem says of a refusal, over HTTP or as the error of a call. */
export interface ProblemFacts {
  readonly code: ProblemCode
  /** What is wrong with this request. Default: the general cause of the problem. */
  readonly detail?: string
  readonly errors?: ReadonlyArray<MemberFault>
  /** State and identifier of the resource in a conflict. */
  readonly currentState?: string
  readonly resourceId?: string
  /** When to try again, in seconds, where that is known. */
  readonly retryAfterSeconds?: number
}

/** The problem code of each refusal (part 2). */
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
export const problemOfRefusal = (refusal: DomainRefusal): ProblemFacts => {
  const code = CODES[refusal._tag]
  switch (refusal._tag) {
    case "ValidationFailed":
      return { code, errors: refusal.errors }
    case "StateConflict": {
      const { currentState, resourceId } = refusal
      return { code, currentState, resourceId, detail: stateConflictDetail(refusal) }
    }
    case "TerminalStateConflict": {
      const { currentState, resourceId } = refusal
      return { code, currentState, resourceId, detail: terminalStateConflictDetail(currentState) }
    }
    case "WebhookTargetNotAllowed":
      return {
        code,
        detail: refusal.form === undefined ? TARGET_NAME_DETAIL : TARGET_FORM_DETAILS[refusal.form]
      }
    case "MandateLimitReached":
      return { code, detail: refusal.detail }
    case "IdentityAssertionInvalid":
      return { code, ...(refusal.detail === undefined ? {} : { detail: refusal.detail }) }
    case "HistoryChanged":
      return { code, detail: HISTORY_CHANGED_DETAIL }
    case "StoreUnavailable":
      return { code, retryAfterSeconds: refusal.retryAfterSeconds ?? RETRY_AFTER_SECONDS }
    case "IdentityKeysUnavailable":
      return { code, retryAfterSeconds: refusal.retryAfterSeconds }
    case "SignerUnavailable":
      return { code, retryAfterSeconds: RETRY_AFTER_SECONDS }
    default:
      return { code }
  }
}

/** Logs why something is unavailable, since the caller is not told; other refusals are the caller's affair. */
export const logUnavailable = (refusal: DomainRefusal): Effect.Effect<void> => {
  switch (refusal._tag) {
    case "StoreUnavailable":
      // The log formats it itself: its cause may quote rows.
      return Effect.logWarning("unavailable", refusal._tag, refusal)
    case "IdentityKeysUnavailable":
    case "SignerUnavailable":
      return Effect.logWarning("unavailable", refusal._tag, refusal.cause)
    default:
      return Effect.void
  }
}
