/** Open reservations of one mandate at a time (part 4). */
export const MAX_OPEN_RESERVATIONS = 256
/** Proposals of one mandate, whatever was decided (part 4). */
export const MAX_AUTHORIZATIONS = 10_000
/** Refund reports of one authorization (part 4). */
export const MAX_REFUND_REPORTS = 100
/** Conflicting reports that are recorded per authorization; a first late commit always is (part 5). */
export const MAX_OUTCOME_CONFLICTS = 10
/** Length of one mandate's journal in bytes: 32 MiB (part 4). */
export const MAX_JOURNAL_BYTES = 33_554_432
/**
 * Kept free for each open reservation and for the mandate's own end, in bytes, so that closing always fits. The
 * longest closing event has three strings of 255 code points, at most six bytes each, beside 1 KiB of its own.
 */
export const CLOSING_EVENT_BYTES = 8192
/** How far in the future a caller's report may be dated, in seconds (part 5). */
export const REPORT_LEAD_SECONDS = 300
