import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** Whether the store can be relied on, and not only reached (part 9, GET /readyz). */
export class StoreHealth extends Context.Service<
  StoreHealth,
  {
    /**
     * The reasons why not, each a sentence for the operator without secrets; empty if the store is sound. One round trip.
     */
    readonly faults: Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
  }
>()("@svc/domain/ports/StoreHealth") {}
