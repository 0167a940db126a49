import { Schema } from "effect"
import { AuthorizationId, EventId, MandateId } from "./Identifier.ts"
import { PositiveInteger } from "./Mandate.ts"

/** Types of the events of a mandate's stream (part 7). */
export const JournalEventType = Schema.Literals([
  "mandate.created",
  "mandate.approved",
  "mandate.rejected",
  "mandate.activated",
  "mandate.consumed",
  "mandate.revoked",
  "mandate.expired",
  "authorization.reserved",
  "authorization.denied",
  "authorization.indeterminate",
  "authorization.committed",
  "authorization.cancelled",
  "authorization.expired",
  "authorization.outcome_conflict",
  "authorization.refund_reported"
])
export type JournalEventType = typeof JournalEventType.Type

/** Whether the service saw to a fact itself or wrote down what a caller told it. */
export const EventSource = Schema.Literals(["SERVICE_VERIFIED", "CALLER_REPORTED"])
export type EventSource = typeof EventSource.Type

const CALLER_REPORTED: ReadonlySet<JournalEventType> = new Set<JournalEventType>([
  "authorization.committed",
  "authorization.cancelled",
  "authorization.outcome_conflict",
  "authorization.refund_reported"
])

/** The source of an event follows from its type (part 7). */
export const sourceOf = (type: JournalEventType): EventSource =>
  CALLER_REPORTED.has(type) ? "CALLER_REPORTED" : "SERVICE_VERIFIED"

/** An event of the journal. Its canonical text, not this object, is what is stored and hashed. */
export const JournalEvent = Schema.Struct({
  seq: PositiveInteger,
  id: EventId,
  type: JournalEventType,
  occurred_at: Schema.String,
  source: EventSource,
  mandate_version: PositiveInteger,
  authorization_id: Schema.optionalKey(AuthorizationId),
  data: Schema.Record(Schema.String, Schema.Json),
  previous_hash: Schema.optionalKey(Schema.String),
  hash: Schema.String
})
export type JournalEvent = typeof JournalEvent.Type

/** An event among those of all mandates (part 8): the journal's object, and the mandate that it belongs to. */
export const FeedEvent = Schema.Struct({ mandate_id: MandateId, ...JournalEvent.fields })
export type FeedEvent = typeof FeedEvent.Type
