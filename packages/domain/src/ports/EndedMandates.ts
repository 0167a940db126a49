import type { Instant } from "@svc/protocol/Timestamp"
import { Context, Data, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** A mandate in a final state with nothing open, so that only a late report could still add to its journal. */
export interface EndedMandate {
  readonly mandate: string
  readonly state: "CONSUMED" | "REVOKED" | "REJECTED" | "EXPIRED"
  /** Counts all appends. It and the head fence the removal: nothing may have been recorded since. */
  readonly revision: number
  readonly seq: number
  readonly hash: string
  /** When the last event occurred, which is when the mandate ended or later. */
  readonly occurredAt: Instant
}

/** What went with a mandate, in rows. */
export interface RemovedRows {
  readonly events: number
  readonly authorizations: number
  readonly approvalSessions: number
}

/**
 * The mandate's rows stay. `changed`: something was recorded since it was listed. `not_ended`: it is not in a final state, has
 * something open, or its last event is not old enough. `deliveries_waiting`: a webhook of one of its events is still to be sent.
 */
export class MandateKept extends Data.TaggedError("MandateKept")<{
  readonly reason: "changed" | "not_ended" | "deliveries_waiting"
}> {}

/**
 * Mandates that have ended, for an operator who archives them and removes their rows. No request comes here.
 *
 * Of a removed mandate the store keeps what permits no second use of anything: every idempotency key and commitment stays
 * taken, and the head of its journal and the identifiers of its events are on record, by which the feed goes on from a cursor
 * that stands at one of them. Its identifier and those of its authorizations name nothing from then on.
 */
export class EndedMandates extends Context.Service<
  EndedMandates,
  {
    /**
     * The next ended mandates after `after` in the order of their identifiers, whose last event occurred before
     * `endedBefore`; of one subject if it is given. A page may be empty and still have a `next`, to go on after.
     */
    readonly list: (query: {
      readonly organization: string
      readonly endedBefore: Instant
      readonly subjectReference?: string
      readonly after?: string
    }) => Effect.Effect<
      { readonly mandates: ReadonlyArray<EndedMandate>; readonly next?: string },
      StoreUnavailable
    >
    /**
     * Removes all rows of a mandate in one transaction, if nothing was recorded since it was listed. Removing it again
     * succeeds, with no rows.
     */
    readonly remove: (removal: {
      readonly organization: string
      readonly ended: EndedMandate
      readonly endedBefore: Instant
    }) => Effect.Effect<RemovedRows, MandateKept | StoreUnavailable>
  }
>()("@svc/domain/ports/EndedMandates") {}
