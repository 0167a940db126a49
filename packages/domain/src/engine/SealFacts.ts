import type { Instant } from "@svc/protocol/Timestamp"
import { identifierAt } from "../Identifiers.ts"
import { evolve } from "../mandate/Evolve.ts"
import type { JournalFact } from "../mandate/JournalFact.ts"
import type { StreamHead, StreamState } from "../mandate/MandateState.ts"
import { type SealedEvent, sealEvent } from "../mandate/SealedEvent.ts"
import type { Randomness } from "../ports/Randomness.ts"

/** Where a stream ends, and the state that it has there. */
export interface StreamEnd {
  readonly head: StreamHead
  readonly state: StreamState
}

/** Seals facts one after another behind the end of their stream, which is absent for a new one, and folds them into it. */
export const sealFacts = <End extends StreamEnd | undefined>(
  before: End,
  facts: ReadonlyArray<JournalFact>,
  now: Instant,
  randomness: Randomness["Service"]
): { readonly events: ReadonlyArray<SealedEvent>; readonly after: StreamEnd | End } => {
  const events: Array<SealedEvent> = []
  let after: StreamEnd | End = before
  for (const fact of facts) {
    const state = evolve(after?.state, fact)
    const id = identifierAt("evt_", now, randomness)
    const { head, sealed } = sealEvent(after?.head, fact, { id, mandate: state.mandate })
    events.push(sealed)
    after = { head, state }
  }
  return { events, after }
}
