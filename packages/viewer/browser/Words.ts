import type { CheckName, CheckStatus, OutcomeSum, ReplayedEvent, WarningCode } from "@svc/verifier"

/** What each type of event says, in a few words. */
export const EVENT_WORDS: Readonly<Record<ReplayedEvent["event"]["type"], string>> = {
  "mandate.created": "Mandate created",
  "mandate.approved": "Approved with a passkey",
  "mandate.rejected": "Declined on the approval page",
  "mandate.activated": "Mandate became active",
  "mandate.consumed": "Mandate used up",
  "mandate.revoked": "Mandate revoked",
  "mandate.expired": "Mandate expired",
  "authorization.reserved": "Allowed, amount reserved",
  "authorization.denied": "Denied",
  "authorization.indeterminate": "Could not be decided",
  "authorization.committed": "Reported as executed",
  "authorization.cancelled": "Reported as cancelled",
  "authorization.expired": "Reservation expired",
  "authorization.outcome_conflict": "Reported against the outcome on record",
  "authorization.refund_reported": "Refund reported"
}

export const SOURCE_WORDS = {
  SERVICE_VERIFIED: "Service-verified",
  CALLER_REPORTED: "Caller-reported"
} as const

export const STATUS_WORDS: Readonly<Record<CheckStatus, string>> = {
  pass: "pass",
  fail: "FAIL",
  not_applicable: "not applicable",
  not_pinned: "not pinned"
}

export const OUTCOME_WORDS: Readonly<Record<OutcomeSum["outcome"], string>> = {
  COMMITTED: "Reported as executed",
  RESERVED: "Still reserved",
  CANCELLED: "Cancelled",
  EXPIRED: "Expired without a report",
  DENIED: "Denied",
  INDETERMINATE: "Could not be decided",
  LATE: "Executed late: reported after the reservation had ended"
}

export const WARNING_WORDS: Readonly<Record<WarningCode, string>> = {
  executed_outside_authority: "Executed outside of the time that was granted",
  late_usage: "Reported as executed after the reservation had ended",
  outcome_conflict: "A report contradicts the outcome on record",
  time_zones_differ: "Its time zone tables differ from this browser's database",
  may_have_changed: "Not of today: the mandate may have changed since",
  generated_in_future: "Generated ahead of this device's clock"
}

/** What evidence leaves open when a check has nothing to compare with. */
const OPEN_QUESTIONS = {
  expected_organization: "that it is of the organization that you mean",
  expected_environment: "that it is of the live environment, or of the test one",
  expected_mandate: "that it is of the mandate that you mean",
  expected_subject: "that the mandate is of the person that you mean",
  rp_id: "that the passkey is one for the service's own site",
  origin: "that the approval was given on the service's own page",
  passkey: "that the passkey is one of that person",
  remembered_head: "that nothing was cut off or replaced since evidence that you saw earlier"
} as const satisfies Partial<Record<CheckName, string>>

export type PinnedCheck = keyof typeof OPEN_QUESTIONS

export const isPinnable = (name: CheckName): name is PinnedCheck => Object.hasOwn(OPEN_QUESTIONS, name)

export const openQuestion = (name: CheckName): string =>
  isPinnable(name) ? OPEN_QUESTIONS[name] : "that the time zone tables are those of a time zone database"
