import { Effect } from "effect"
import { StoreUnavailable } from "../ports/MandateStore.ts"

/** Reads of a list that kept finding something due, after which it is given up as 503. */
const MAX_LIST_READS = 10

/** Reads a list until nothing that it could show is due (part 4): what was due is appended, and the list read again. */
export const settledList = Effect.fnUntraced(function* <A, E1, R1, E2, R2>(list: {
  readonly read: Effect.Effect<A, E1, R1>
  readonly isDue: (read: A) => boolean
  readonly settle: (read: A) => Effect.Effect<void, E2, R2>
}): Effect.fn.Return<A, E1 | E2 | StoreUnavailable, R1 | R2> {
  for (let reads = 0; reads < MAX_LIST_READS; reads++) {
    const read = yield* list.read
    if (!list.isDue(read)) return read
    yield* list.settle(read)
  }
  return yield* new StoreUnavailable({ retryAfterSeconds: 1 })
})
