/** What happened. New types may be added. */
export type EventType =
  | "mandate.created"
  | "mandate.approved"
  | "mandate.rejected"
  | "mandate.activated"
  | "mandate.consumed"
  | "mandate.revoked"
  | "mandate.expired"
  | "authorization.reserved"
  | "authorization.denied"
  | "authorization.indeterminate"
  | "authorization.committed"
  | "authorization.cancelled"
  | "authorization.expired"
  | "authorization.outcome_conflict"
  | "authorization.refund_reported"

/** A value as JSON has it. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [name: string]: Json }

/** An event of a mandate's journal, as it was hashed. */
export interface JournalEvent {
  /** Place in the mandate's journal: from 1, without gaps. */
  readonly seq: number
  readonly id: string
  readonly type: EventType
  readonly occurred_at: string
  /** Whether the service saw to it itself or wrote down what a caller said. */
  readonly source: "SERVICE_VERIFIED" | "CALLER_REPORTED"
  readonly mandate_version: number
  readonly authorization_id?: string
  readonly data: { readonly [name: string]: Json }
  /** Absent on the first. */
  readonly previous_hash?: string
  readonly hash: string
}

/** An event among those of all mandates. */
export interface FeedEvent extends JournalEvent {
  readonly mandate_id: string
}

/** A page of the feed, oldest first. */
export interface FeedPage {
  readonly data: ReadonlyArray<FeedEvent>
  readonly has_more: boolean
  /** Where to go on from, at the end of the list too: keep it. */
  readonly next_cursor: string
}

/** From where the feed is read. */
export interface FeedQuery {
  /** Events of a page, 1 to 100. Default 25. */
  readonly limit?: number | undefined
  /** `next_cursor` of an earlier page. Default: from the beginning. */
  readonly after?: string | undefined
}
