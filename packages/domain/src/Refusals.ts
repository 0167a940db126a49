import type { MemberFault } from "@svc/protocol/Problem"
import { Data } from "effect"
import type { TargetFormFault } from "./webhook/WebhookTarget.ts"

/*
 * Why a request is refused. Each refusal stands for the problem code of its name (part 2). A refused request changes
 * nothing unless its description says otherwise.
 */

/** One or more members are not as they must be. */
export class ValidationFailed extends Data.TaggedError("ValidationFailed")<{
  readonly errors: ReadonlyArray<MemberFault>
}> {}

/** No such organization in the environment of the deployment. */
export class OrganizationUnknown extends Data.TaggedError("OrganizationUnknown")<Record<never, never>> {}

/** No such resource in this organization. */
export class NotFound extends Data.TaggedError("NotFound")<Record<never, never>> {}

/** The cursor was not made for this list. */
export class InvalidCursor extends Data.TaggedError("InvalidCursor")<Record<never, never>> {}

/**
 * The cursor belongs to a history that is not part of the store's: it was issued before the store was restored to an earlier
 * state, and events that its holder has read may be gone.
 */
export class HistoryChanged extends Data.TaggedError("HistoryChanged")<Record<never, never>> {}

/** The write needs an idempotency key and has none (part 3). */
export class IdempotencyKeyRequired extends Data.TaggedError("IdempotencyKeyRequired")<
  Record<never, never>
> {}

/** The key is not of 1 to 255 visible ASCII characters (part 3). */
export class IdempotencyKeyInvalid extends Data.TaggedError("IdempotencyKeyInvalid")<Record<never, never>> {}

/** The key was used with other input (part 3). */
export class IdempotencyKeyReused extends Data.TaggedError("IdempotencyKeyReused")<Record<never, never>> {}

/** The resource is in a state in which the operation has no meaning. */
export class StateConflict extends Data.TaggedError("StateConflict")<{
  readonly currentState: string
  readonly resourceId: string
  /** The states in which it would have one. */
  readonly needed: ReadonlyArray<string>
}> {}

/** The authorization has another outcome, and terminal outcomes never change (part 5). */
export class TerminalStateConflict extends Data.TaggedError("TerminalStateConflict")<{
  readonly currentState: string
  readonly resourceId: string
}> {}

/** Another authorization of the organization carried this commitment (part 5). */
export class CommitmentReused extends Data.TaggedError("CommitmentReused")<Record<never, never>> {}

/** The opening is not that of the authorization's commitment (part 5). */
export class CommitmentMismatch extends Data.TaggedError("CommitmentMismatch")<Record<never, never>> {}

/** A limit per mandate (part 4); `detail` names it. */
export class MandateLimitReached extends Data.TaggedError("MandateLimitReached")<{
  readonly detail: string
}> {}

/** The sum of refunds would be over the committed amount (part 5). */
export class RefundExceedsCommitted extends Data.TaggedError("RefundExceedsCommitted")<
  Record<never, never>
> {}

/** The `jti` made another approval session (part 6). */
export class AssertionReplayed extends Data.TaggedError("AssertionReplayed")<Record<never, never>> {}

/** The identity assertion does not meet the organization's settings (part 6). */
export class IdentityAssertionInvalid extends Data.TaggedError("IdentityAssertionInvalid")<{
  /** Why, for the caller to read. Absent: what part 6 asks of every assertion. */
  readonly detail?: string
}> {}

/** A valid identity assertion for another subject (part 6). */
export class SubjectMismatch extends Data.TaggedError("SubjectMismatch")<Record<never, never>> {}

/** The `return_url` is not an address of a registered origin (part 6). */
export class ReturnUrlNotAllowed extends Data.TaggedError("ReturnUrlNotAllowed")<Record<never, never>> {}

/** The subject may not create a passkey in this session (part 6). */
export class EnrolmentNotAllowed extends Data.TaggedError("EnrolmentNotAllowed")<Record<never, never>> {}

/** Spent, superseded, expired or unknown: one refusal for all (part 6). */
export class ApprovalSessionClosed extends Data.TaggedError("ApprovalSessionClosed")<Record<never, never>> {}

/** The session belongs to the browser that began the ceremony (part 6). */
export class ApprovalSessionBound extends Data.TaggedError("ApprovalSessionBound")<Record<never, never>> {}

/** What the passkey signed does not verify for this approval; nothing was approved (part 6). */
export class PasskeyVerificationFailed extends Data.TaggedError("PasskeyVerificationFailed")<
  Record<never, never>
> {}

/** Unknown, revoked, expired, or of another environment: one refusal for all (part 2). */
export class ApiKeyInvalid extends Data.TaggedError("ApiKeyInvalid")<Record<never, never>> {}

/** A live key of an organization without a billing account (part 9). */
export class BillingAccountRequired extends Data.TaggedError("BillingAccountRequired")<
  Record<never, never>
> {}

/** The organization has as many webhook endpoints that are not deleted as it may (part 8). */
export class WebhookEndpointLimitReached extends Data.TaggedError("WebhookEndpointLimitReached")<
  Record<never, never>
> {}

/**
 * A webhook endpoint may not have this target (part 8). The reason is given only for the form of its text, so that a caller
 * cannot learn whether a name is unknown or leads into a private network.
 */
export class WebhookTargetNotAllowed extends Data.TaggedError("WebhookTargetNotAllowed")<{
  /** Absent: the text is in order. */
  readonly form?: TargetFormFault
}> {}
