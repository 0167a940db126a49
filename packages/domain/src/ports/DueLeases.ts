import type { Nanos } from "@svc/protocol/Timestamp"
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** A stream whose next transition is due. */
export interface DueStream {
  readonly organization: string
  readonly mandate: string
}

/**
 * Shares the streams that have something due among any number of workers (part 9). A lease saves them from doing the
 * same work twice and nothing more: it may run out under a worker that still holds on, so what keeps two of them from
 * recording the same transition is the revision of the stream, as for everybody else.
 */
export class DueLeases extends Context.Service<
  DueLeases,
  {
    /**
     * Leases streams whose next transition is due at the store's clock, over all organizations, earliest first: at most
     * `limit`, and none that is under a lease that still lasts. `token` names the lease, and is new for each call; at
     * the instant `lasts` nanoseconds from now the lease has run out.
     */
    readonly take: (query: {
      readonly token: string
      readonly limit: number
      readonly lasts: Nanos
    }) => Effect.Effect<ReadonlyArray<DueStream>, StoreUnavailable>
    /** Gives streams back, those that are leased under another token by now excepted. */
    readonly release: (query: {
      readonly token: string
      readonly streams: ReadonlyArray<DueStream>
    }) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/domain/ports/DueLeases") {}
