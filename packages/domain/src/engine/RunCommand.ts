import { Effect, Exit } from "effect"
import {
  type Loaded,
  type LoadedStream,
  MandateStore,
  type StoreUnavailable,
  type StreamReference
} from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import type { NotFound } from "../Refusals.ts"
import { loadAlone, runAlone, runTogether } from "./CommandBatch.ts"
import type { Answer, CommandRefusal, Outcome, SettledStream, StreamCommand } from "./StreamCommand.ts"
import { type MandatePlace, mandateTurnKey, type SharedWork, StreamTurns } from "./StreamTurns.ts"
import { mandateOf, TURN_PATIENCE_SECONDS } from "./UntilAppended.ts"

/** Most commands that one append records. */
export const MAX_BATCH_COMMANDS = 64

/** A command in line for the turn of its mandate. */
interface Queued {
  readonly command: StreamCommand
  readonly place: MandatePlace
  readonly store: MandateStore["Service"]
  /** Loaded before the mandate was known, for when nobody has the turn. */
  readonly loaded?: Loaded
}

const combined: SharedWork<Queued, Answer, CommandRefusal | StoreUnavailable, MandateStore | Randomness> = {
  limit: MAX_BATCH_COMMANDS,
  joins: (first, other) => first.store === other.store,
  alone: ({ command, loaded, place }, hasWaited) =>
    Effect.flatMap(runAlone(command, place, hasWaited ? undefined : loaded), ([outcome]) => outcome!),
  together: (queued) =>
    Effect.catch(
      runTogether(
        queued[0]!.place,
        queued.map(({ command }) => command)
      ),
      (unavailable): Effect.Effect<ReadonlyArray<Outcome>> =>
        Effect.succeed(queued.map(() => Exit.fail(unavailable)))
    )
}

/** Runs a command when it is the turn of its mandate. */
const inTurn = (queued: Queued) =>
  StreamTurns.use((turns) =>
    turns.sharedTurn(mandateTurnKey(queued.place), TURN_PATIENCE_SECONDS, combined, queued)
  )

/**
 * Runs a command in the turn of its mandate: alone if nobody has the turn, else with those that wait beside it, with one load
 * and one append for all. Within a process none of them ever loses a race.
 *
 * The mandate of an authorization that this process has not seen is learnt by the load that the command needs anyway.
 */
export const runCommand = Effect.fnUntraced(function* (
  command: StreamCommand
): Effect.fn.Return<Answer, CommandRefusal | StoreUnavailable, MandateStore | Randomness> {
  const turns = yield* StreamTurns
  const store = yield* MandateStore
  const { organization, stream } = command
  const known = stream === undefined ? undefined : turns.placeOf(organization, stream)
  if (known !== undefined) return yield* inTurn({ command, place: known, store })
  const loaded = yield* loadAlone(command)
  if (stream === undefined || loaded.stream === undefined) {
    const [outcome] = yield* runAlone(command, undefined, loaded)
    return yield* outcome!
  }
  const place = mandateOf(loaded.stream)
  turns.rememberPlace(organization, stream, place)
  return yield* inTurn({ command, place, store, loaded })
})

/** Records what is due in a stream that was loaded, in the turn of its mandate. */
export const settleStream = Effect.fnUntraced(function* (
  reference: StreamReference,
  loaded: Loaded & { readonly stream: LoadedStream }
): Effect.fn.Return<SettledStream, NotFound | StoreUnavailable, MandateStore | Randomness> {
  const store = yield* MandateStore
  const place = mandateOf(loaded.stream)
  const command: StreamCommand = {
    organization: place.organization,
    stream: reference,
    decide: () => Exit.succeed({ facts: [], boundaries: [], resource: place.mandate })
  }
  const answer = yield* inTurn({ command, place, store, loaded }).pipe(
    Effect.catchIf(
      (error) => error._tag !== "StoreUnavailable" && error._tag !== "NotFound",
      (refusal) => Effect.die(refusal)
    )
  )
  return answer._tag === "Recorded" ? answer.stream : yield* Effect.die("a read has no key to replay")
})
