import type { Instant } from "@svc/protocol/Timestamp"
import { applyDue } from "../mandate/ApplyDue.ts"
import type { JournalFact } from "../mandate/JournalFact.ts"
import type { StreamState } from "../mandate/MandateState.ts"
import type { LoadedStream } from "../ports/MandateStore.ts"

/** A stream at the instant of a command: `state` has everything that is due by then applied. */
export interface CurrentStream extends LoadedStream {
  readonly now: Instant
  /** Transitions that came due and are not appended yet. */
  readonly due: ReadonlyArray<JournalFact>
  /** `state` as it was loaded, before `due`. */
  readonly loadedState: StreamState
}

/** Applies what is due at `now`. Nothing may be shown of the stream before `due` is appended. */
export const asOf = (stream: LoadedStream, now: Instant): CurrentStream => {
  const { facts, stream: state } = applyDue(stream.state, now)
  return { ...stream, state, now, due: facts, loadedState: stream.state }
}
