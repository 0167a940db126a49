import { Cause, Context, Effect, Exit, Fiber, References } from "effect"
import { StoreUnavailable, type StreamReference } from "../ports/MandateStore.ts"
import { type KnownStreams, makeKnownStreams } from "./KnownStreams.ts"
import { makeLeastRecentlySet } from "./LeastRecentlySet.ts"

/** References whose mandate is remembered. */
const MAX_REMEMBERED = 10_000

/** Work that may be done for one alone, or for several who wait for the same turn in one go. */
export interface SharedWork<Item, A, E, R> {
  /** Most items done in one go. */
  readonly limit: number
  /** Whether an item may be done in one go with another that came before it. */
  readonly joins: (first: Item, other: Item) => boolean
  /** Does one item. `hasWaited` tells whether others had the turn since it came. */
  readonly alone: (item: Item, hasWaited: boolean) => Effect.Effect<A, E, R>
  /**
   * Does several, and gives the outcome of each in their order. Those at the end may be left out, and then keep their place
   * in line; the first may not.
   */
  readonly together: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, R>
}

/** A mandate by its names. */
export interface MandatePlace {
  readonly organization: string
  readonly mandate: string
}

/** The turn key of a mandate's stream. */
export const mandateTurnKey = ({ mandate, organization }: MandatePlace): string =>
  JSON.stringify([organization, mandate])

/** Turns of the writes and reads of one process. */
export interface Turns {
  /** How many wait for the turn of a key or have it. */
  readonly length: (key: string) => number
  /** Waits for so many seconds for its turn, by default for any time. */
  readonly inTurn: (
    key: string,
    patienceSeconds?: number
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreUnavailable, R>
  /**
   * Does an item in its turn: at once if nobody has the turn of the key, else together with those next to it in line. Waits
   * for so many seconds. Who is interrupted before its turn leaves the line.
   */
  readonly sharedTurn: <Item, A, E, R>(
    key: string,
    patienceSeconds: number,
    work: SharedWork<Item, A, E, R>,
    item: Item
  ) => Effect.Effect<A, E | StoreUnavailable, R>
  /** The mandate whose stream a reference names, which never changes, if it is remembered. A token names no organization. */
  readonly placeOf: (organization: string | undefined, stream: StreamReference) => MandatePlace | undefined
  readonly rememberPlace: (
    organization: string | undefined,
    stream: StreamReference,
    place: MandatePlace
  ) => void
  /** Streams that need not be loaded, for whoever has the turn of their mandate. */
  readonly known: KnownStreams
}

/** The turn itself, as opposed to an outcome that others have brought about in theirs. */
const TURN: unique symbol = Symbol("turn")

type Awaited = typeof TURN | Exit.Exit<unknown, unknown>

/** Every waiter with this work has what it needs in its context. */
type AnyWork = SharedWork<unknown, unknown, unknown, never>

interface Waiter {
  readonly shared?: { readonly work: AnyWork; readonly item: unknown }
  readonly context: Context.Context<never>
  state: "waiting" | "in_turn" | "done_by_others" | "gone"
  /** What it waited for, if that came before it listened. */
  awaited: Awaited | undefined
  resume: (awaited: Awaited) => void
}

interface Line {
  readonly key: string
  readonly waiters: Array<Waiter>
  /** How many have the turn: one, or those that are done in one go. */
  atWork: number
}

/** The context of what is done for several: it is logged for none of them. */
export const ofNobody = (context: Context.Context<never>): Context.Context<never> =>
  Context.add(context, References.CurrentLogAnnotations, {})

const nameOf = (organization: string | undefined, stream: StreamReference): string =>
  JSON.stringify([organization, stream])

const newWaiter = (shared: Waiter["shared"]): Waiter => {
  const waiter: Waiter = {
    ...(shared === undefined ? {} : { shared }),
    context: Fiber.getCurrent()?.context ?? Context.empty(),
    state: "waiting",
    awaited: undefined,
    resume: (awaited) => {
      waiter.awaited = awaited
    }
  }
  return waiter
}

/** Does items in one go; if that fails as a whole by a defect, each alone, so that one cannot make others fail. */
const outcomesOf = (
  work: AnyWork,
  items: ReadonlyArray<unknown>
): Effect.Effect<ReadonlyArray<Exit.Exit<unknown, unknown>>> =>
  Effect.catchCause(work.together(items), (cause) =>
    Effect.andThen(
      Effect.logWarning("work that was shared failed and is done for each alone", Cause.squash(cause)),
      Effect.forEach(items, (item) => Effect.exit(work.alone(item, true)))
    )
  )

export const makeTurns = (): Turns => {
  const lines = new Map<string, Line>()
  const places = makeLeastRecentlySet<MandatePlace>(MAX_REMEMBERED)

  const lineOf = (key: string): Line => {
    const line = lines.get(key) ?? { key, waiters: [], atWork: 0 }
    lines.set(key, line)
    return line
  }

  /** Those that are next: one, or several whose work is shared. */
  const takeNext = ({ waiters }: Line): ReadonlyArray<Waiter> => {
    const first = waiters[0]?.shared
    if (first === undefined) return waiters.splice(0, 1)
    const stranger = waiters.findIndex(
      ({ shared }) => shared?.work !== first.work || !first.work.joins(first.item, shared.item)
    )
    const together = stranger === -1 ? waiters.length : stranger
    return waiters.splice(0, Math.min(together, first.work.limit))
  }

  const passOn = (line: Line): void => {
    const next = takeNext(line)
    line.atWork = next.length
    const [first] = next
    if (first === undefined) lines.delete(line.key)
    else if (next.length > 1) doTogether(line, next, first.shared!.work)
    else {
      first.state = "in_turn"
      first.resume(TURN)
    }
  }

  /** The work belongs to none of those that it is done for, so it goes on when they are interrupted. */
  const doTogether = (line: Line, next: ReadonlyArray<Waiter>, work: AnyWork) => {
    for (const waiter of next) waiter.state = "done_by_others"
    const items = next.map(({ shared }) => shared!.item)
    const fiber = Effect.runForkWith(ofNobody(next[0]!.context))(outcomesOf(work, items))
    fiber.addObserver((exit) => {
      const outcomes = Exit.isSuccess(exit) ? exit.value : next.map(() => exit)
      const left = next.slice(outcomes.length).filter(({ state }) => state !== "gone")
      for (const waiter of left) waiter.state = "waiting"
      line.waiters.unshift(...left)
      for (const [index, outcome] of outcomes.entries()) next[index]!.resume(outcome)
      passOn(line)
    })
  }

  const wait = (waiter: Waiter): Effect.Effect<Awaited> =>
    Effect.callback<Awaited>((resume) => {
      waiter.resume = (awaited) => resume(Effect.succeed(awaited))
      if (waiter.awaited !== undefined) waiter.resume(waiter.awaited)
    })

  const leave = (line: Line, waiter: Waiter): void => {
    const { state } = waiter
    waiter.state = "gone"
    if (state === "in_turn") passOn(line)
    if (state === "waiting") line.waiters.splice(line.waiters.indexOf(waiter), 1)
  }

  const patiently = <A>(
    waiting: Effect.Effect<A>,
    patienceSeconds: number | undefined
  ): Effect.Effect<A, StoreUnavailable> =>
    patienceSeconds === undefined
      ? waiting
      : Effect.timeoutOrElse(waiting, {
          duration: `${patienceSeconds} seconds`,
          orElse: () => Effect.fail(new StoreUnavailable({ cause: "no turn in time", retryAfterSeconds: 1 }))
        })

  const take = <A, E, R>(
    key: string,
    patienceSeconds: number | undefined,
    shared: Waiter["shared"],
    inTurn: (hasWaited: boolean) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | StoreUnavailable, R> =>
    Effect.uninterruptibleMask((restore) => {
      const line = lineOf(key)
      const waiter = newWaiter(shared)
      const isFree = line.atWork === 0
      if (isFree) {
        line.atWork = 1
        waiter.state = "in_turn"
      } else line.waiters.push(waiter)
      const done = isFree
        ? inTurn(false)
        : Effect.flatMap(
            patiently(wait(waiter), patienceSeconds),
            (awaited): Effect.Effect<A, E, R> =>
              awaited === TURN ? inTurn(true) : (awaited as Exit.Exit<A, E>)
          )
      return Effect.ensuring(
        restore(done),
        Effect.sync(() => leave(line, waiter))
      )
    })

  return {
    length: (key) => {
      const line = lines.get(key)
      return line === undefined ? 0 : line.atWork + line.waiters.length
    },
    inTurn: (key, patienceSeconds) => (effect) => take(key, patienceSeconds, undefined, () => effect),
    sharedTurn: (key, patienceSeconds, work, item) =>
      take(key, patienceSeconds, { work: work as unknown as AnyWork, item }, (hasWaited) =>
        work.alone(item, hasWaited)
      ),
    placeOf: (organization, stream) =>
      organization !== undefined && "mandate" in stream
        ? { organization, mandate: stream.mandate }
        : places.get(nameOf(organization, stream)),
    rememberPlace: (organization, stream, place) => {
      if ("mandate" in stream) return
      places.set(nameOf(organization, stream), place)
    },
    known: makeKnownStreams()
  }
}

/**
 * Turns within this process: of those with one key, one at a time goes on, or several in one go, in the order in which they
 * came. Waiting in line is cheaper than losing races, and nobody starves.
 *
 * Each store brings turns of its own, so that services on different stores in one process do not wait for each other. The
 * default, for a store that brings none, is one for the process.
 */
export class StreamTurns extends Context.Reference<Turns>("@svc/domain/engine/StreamTurns", {
  defaultValue: makeTurns
}) {}
