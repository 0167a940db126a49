import { ofNobody } from "@svc/domain/engine/StreamTurns"
import { type Context, Effect, Exit, Fiber } from "effect"

/** How reads of one kind share statements. */
export interface SharedReadOptions<Query, A, E> {
  /** Fewest queries that share a statement; fewer are cheaper each by its own. */
  readonly least: number
  /** Most queries that one statement answers. */
  readonly limit: number
  /** Whether a query may share the statement of one that came before it; any may by default. */
  readonly joins?: (first: Query, other: Query) => boolean
  readonly alone: (query: Query) => Effect.Effect<A, E>
  /** Answers several queries by one statement, which must see everything that was recorded before it was sent. */
  readonly together: (queries: ReadonlyArray<Query>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, E>
}

/** A statement that takes longer keeps no query waiting, in milliseconds: others have connections of their own. */
export const SLOW_MILLISECONDS = 100

interface Waiting<Query, A, E> {
  readonly query: Query
  readonly since: number
  readonly context: Context.Context<never>
  readonly resume: (answer: Exit.Exit<A, E>) => void
}

/**
 * Sends a query at once when no statement is under way; those that arrive meanwhile go together in the next one, once that
 * has ended or takes long. A query never joins a statement that was sent before it, so that it sees everything that was recorded before it came.
 */
export const makeSharedReads = <Query, A, E>({
  alone,
  joins = () => true,
  least,
  limit,
  together
}: SharedReadOptions<Query, A, E>): ((query: Query) => Effect.Effect<A, E>) => {
  let underWay = 0
  let isWatched = false
  let waiting: Array<Waiting<Query, A, E>> = []

  const release = Effect.sync(() => {
    underWay -= 1
    sendNext()
  })

  const sendNext = (): void => {
    if (waiting.length > 0 && underWay === 0) send()
  }

  /** A statement belongs to none of its queries, so it goes on when they are interrupted. Few queries are sent each by its own. */
  const send = (): void => {
    const first = waiting[0]!.query
    const batch = waiting.filter(({ query }) => joins(first, query)).slice(0, limit)
    const taken = new Set(batch)
    waiting = waiting.filter((one) => !taken.has(one))
    underWay += 1
    const answers = batch.length < least ? eachAlone(batch) : answersTo(batch)
    const fiber = Effect.runForkWith(ofNobody(batch[0]!.context))(answers)
    fiber.addObserver(() => {
      underWay -= 1
      sendNext()
    })
  }

  const eachAlone = (batch: ReadonlyArray<Waiting<Query, A, E>>): Effect.Effect<void> =>
    Effect.forEach(batch, (one) => Effect.map(Effect.exit(alone(one.query)), one.resume), {
      concurrency: "unbounded",
      discard: true
    })

  /** What fails for all by a fault of one is done for each alone. */
  const answersTo = (batch: ReadonlyArray<Waiting<Query, A, E>>): Effect.Effect<void> =>
    Effect.matchCauseEffect(together(batch.map(({ query }) => query)), {
      onSuccess: (answers) =>
        Effect.sync(() => {
          for (const [at, one] of batch.entries()) one.resume(answers[at]!)
        }),
      onFailure: (cause) => {
        const exit = Exit.failCause(cause)
        return cause.reasons.every(({ _tag }) => _tag === "Fail")
          ? Effect.sync(() => {
              for (const one of batch) one.resume(exit)
            })
          : eachAlone(batch)
      }
    })

  /** Sends what has waited too long for statements that are slow. */
  const watch: Effect.Effect<void> = Effect.gen(function* () {
    while (waiting.length > 0) {
      yield* Effect.sleep(SLOW_MILLISECONDS)
      const now = performance.now()
      if (waiting[0] !== undefined && now - waiting[0].since >= SLOW_MILLISECONDS) send()
    }
    isWatched = false
  })

  const sendAlone = (query: Query): Effect.Effect<A, E> =>
    Effect.uninterruptibleMask((restore) => {
      underWay += 1
      return Effect.ensuring(restore(alone(query)), release)
    })

  const wait = (query: Query): Effect.Effect<A, E> =>
    Effect.callback<A, E>((resume) => {
      const one: Waiting<Query, A, E> = {
        query,
        since: performance.now(),
        context: Fiber.getCurrent()!.context,
        resume
      }
      waiting.push(one)
      if (!isWatched) {
        isWatched = true
        Effect.runForkWith(ofNobody(one.context))(watch)
      }
      return Effect.sync(() => {
        waiting = waiting.filter((other) => other !== one)
      })
    })

  return (query) => Effect.suspend(() => (underWay === 0 ? sendAlone(query) : wait(query)))
}
