import type { Instant } from "@svc/protocol/Timestamp"
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** A command that an operator gave. */
export interface OperatorEntry {
  /** Empty where the command is about the whole deployment. */
  readonly organization: string
  /** Distinguishes entries of one instant; unique. */
  readonly entry: string
  /** The user who ran it, as far as the machine knows. */
  readonly operator: string
  /** `organization create` */
  readonly command: string
  /** As given, without secrets. */
  readonly arguments: ReadonlyArray<string>
}

/** A command on record. */
export interface RecordedEntry extends OperatorEntry {
  readonly at: Instant
}

/** What operators did to the store, and when by its clock. */
export class OperatorLog extends Context.Service<
  OperatorLog,
  {
    /** Recorded before the command is carried out, so that nothing happens unrecorded. */
    readonly record: (entry: OperatorEntry) => Effect.Effect<void, StoreUnavailable>
    /** The latest entries of an organization, or of the deployment with an empty one, newest first. */
    readonly latest: (
      organization: string,
      limit: number
    ) => Effect.Effect<ReadonlyArray<RecordedEntry>, StoreUnavailable>
  }
>()("@svc/domain/ports/OperatorLog") {}
