import type { EventSource, JournalEventType } from "./Journal.ts"

const CALLER_REPORTED: ReadonlySet<JournalEventType> = new Set<JournalEventType>([
  "authorization.committed",
  "authorization.cancelled",
  "authorization.outcome_conflict",
  "authorization.refund_reported"
])

/** The source of an event follows from its type (part 7). */
export const sourceOf = (type: JournalEventType): EventSource =>
  CALLER_REPORTED.has(type) ? "CALLER_REPORTED" : "SERVICE_VERIFIED"
