import type { Nanos } from "@svc/protocol/Timestamp"
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** A stream whose next transition is due. */
export interface DueStream {
  readonly organization: string
  readonly mandate: string
}

/**
 * Shares the streams that have something due among any number of workers. A lease only avoids duplicate work: it may expire
 * while its worker continues, so the stream's revision is what keeps two workers from appending the same transition.
 */
export class DueLeases extends Context.Service<
  DueLeases,
  {
    /**
     * Leases streams whose next transition is due at the store's clock, over all organizations, earliest first: at most
     * `limit`, and none that is still leased. `token` names the lease and is new for each call. The lease expires `lasts`
     * nanoseconds from now, and until then an append to the stream does not end it, though more may be due.
     */
    readonly take: (query: {
      readonly token: string
      readonly limit: number
      readonly lasts: Nanos
    }) => Effect.Effect<ReadonlyArray<DueStream>, StoreUnavailable>
    /** Releases streams, except those that are leased under another token by now. */
    readonly release: (query: {
      readonly token: string
      readonly streams: ReadonlyArray<DueStream>
    }) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/domain/ports/DueLeases") {}
