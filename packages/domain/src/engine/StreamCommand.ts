import type { Instant } from "@svc/protocol/Timestamp"
import type { Exit } from "effect"
import type { Decided, Refusal } from "../mandate/Decide.ts"
import type { StreamState } from "../mandate/MandateState.ts"
import type { StoreUnavailable, StreamReference } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import type { CommitmentReused, IdempotencyKeyReused, ValidationFailed } from "../Refusals.ts"
import type { KeyedOperation } from "./IdempotencyKey.ts"
import type { StreamEnd } from "./SealFacts.ts"

/** A stream in which everything due at `now` is recorded. */
export interface SettledStream extends StreamEnd {
  readonly now: Instant
}

/** A command to one stream. It is decided alone, or after others on the state that they lead to. */
export interface StreamCommand {
  readonly organization: string
  /** The stream as the request names it; absent if the name is malformed. */
  readonly stream: StreamReference | undefined
  /** The key that the command binds if it succeeds; a read has none. */
  readonly key?: KeyedOperation
  /** The commitment that it claims beside. */
  readonly commitment?: string
  /** What is wrong with its body. */
  readonly invalid?: ValidationFailed
  readonly decide: (
    state: StreamState,
    journalBytes: number,
    now: Instant,
    randomness: Randomness["Service"]
  ) => Exit.Exit<DecidedCommand, Refusal>
}

export interface DecidedCommand extends Decided {
  /** Identifier of the resource that the key stands for from then on. */
  readonly resource: string
}

/** What became of a command: it is recorded, and the stream as it left it; or an earlier request had bound its key. */
export type Answer =
  | { readonly _tag: "Recorded"; readonly stream: SettledStream; readonly resource: string }
  | { readonly _tag: "Replay"; readonly resource: string }

export type CommandRefusal = IdempotencyKeyReused | CommitmentReused | Refusal

/** The reply to one command. */
export type Outcome = Exit.Exit<Answer, CommandRefusal | StoreUnavailable>
