import { Schema } from "effect"
import { described } from "./Described.ts"
import { AuthorizationId, EventId, MandateId } from "./Identifier.ts"
import { PositiveInteger } from "./Mandate.ts"
import { serviceTimestamp } from "./TimestampSchema.ts"

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

/** Whether the service established a fact itself or recorded what a caller reported. */
export const EventSource = Schema.Literals(["SERVICE_VERIFIED", "CALLER_REPORTED"])
export type EventSource = typeof EventSource.Type

const EXAMPLE_HASH = "cvQ2P1OuvyGVpcvdHWh2G-djv_bzsPy64Z3JMOLPY3E"

/** An event of the journal. Its canonical text, not this object, is what is stored and hashed. */
export const JournalEvent = Schema.Struct({
  seq: described(PositiveInteger, "Place in the mandate's journal: from 1, without gaps.", 2),
  id: described(
    EventId,
    "Identifier of the event, in webhooks and evidence too.",
    "evt_01kbcd2e3f4g5h6j7k8m9npqrs" as never
  ),
  type: described(
    JournalEventType,
    "What happened. New types may be added: pass over those that you do not know.",
    "mandate.approved"
  ),
  occurred_at: serviceTimestamp(
    "When it happened; the same text in the journal, the feed, webhooks and evidence."
  ),
  source: described(
    EventSource,
    "SERVICE_VERIFIED: the service saw to it itself. CALLER_REPORTED: it wrote down what a caller said.",
    "SERVICE_VERIFIED"
  ),
  mandate_version: described(PositiveInteger, "Version of the mandate once this event is applied.", 2),
  authorization_id: Schema.optionalKey(
    described(
      AuthorizationId,
      "The authorization that it belongs to; absent when it belongs to none.",
      "aut_01kbcd2e3f4g5h6j7k8m9npqrs" as never
    )
  ),
  data: described(
    Schema.Record(Schema.String, Schema.Json),
    "What there is to say of it, by type. Part of what is hashed.",
    { reason: "The user closed the account." }
  ),
  previous_hash: Schema.optionalKey(
    described(Schema.String, "hash of the event before; absent on the first.", EXAMPLE_HASH)
  ),
  hash: described(
    Schema.String,
    'base64url(SHA-256("svc:journal:event:v1" || LF || JCS(the event without hash))): 43 characters.',
    EXAMPLE_HASH
  )
})
export type JournalEvent = typeof JournalEvent.Type

/** An event among those of all mandates (part 8): the journal's object, and the mandate that it belongs to. */
export const FeedEvent = Schema.Struct({
  mandate_id: described(
    MandateId,
    "The mandate in whose journal it is.",
    "mnd_01kbcd2e3f4g5h6j7k8m9npqrs" as never
  ),
  ...JournalEvent.fields
})
export type FeedEvent = typeof FeedEvent.Type
