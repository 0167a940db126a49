import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** Whether the store may be relied on, beyond that it answers (part 9, GET /readyz). */
export class StoreHealth extends Context.Service<
  StoreHealth,
  {
    /**
     * Why it may not, each in a sentence for the operator that tells no secret; none when it is sound. One round trip.
     */
    readonly faults: Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
  }
>()("@svc/domain/ports/StoreHealth") {}
