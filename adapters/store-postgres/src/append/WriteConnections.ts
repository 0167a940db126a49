import * as PgClient from "@effect/sql-pg/PgClient"
import type { PgConnection } from "@effect/sql-pg/PgConnection"
import type * as PgPool from "@effect/sql-pg/PgPool"
import { Clock, Duration, Effect, type Scope, Semaphore, Stream } from "effect"
import type { Reactivity } from "effect/reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Borrower, Connection } from "effect/sql/SqlConnection"
import { isSqlError, SqlError, UnknownError } from "effect/sql/SqlError"
import type { HostSearch } from "../connection/HostSearch.ts"
import { makeServerPool, type ServerPool } from "../connection/ServerPool.ts"
import { isOfSession, refusesWrites, sqlStateOf } from "../connection/SqlState.ts"
import { StoreObserver } from "../connection/StoreObserver.ts"

/** Longest that a connection for writes is used: a session keeps the settings that it began with. */
export const WRITE_CONNECTION_LIFETIME: Duration.Input = "5 minutes"

/** Shortest time between two replacements of all connections, in milliseconds. */
const RENEWAL_PAUSE_MILLISECONDS = 1000

/** Shortest time between two checks whether writes still wait for a standby, in milliseconds. */
const LOOK_PAUSE_MILLISECONDS = 250

/** How the last writes failed, while none has succeeded since. */
export interface FailedWrites {
  /** When the first and the last of them failed, in milliseconds of this process's clock. */
  readonly since: number
  readonly last: number
  /** SQLSTATE of the last; absent if the server gave none, as when it does not respond. */
  readonly sqlState: string | undefined
  /** Whether the last had lost its connection, or got none. */
  readonly isOfConnection: boolean
}

/** Says whether a session may be written to, by asking something in it; fails if not. */
export type Admission = (session: Connection) => Effect.Effect<void, SqlError>

/** Connections for statements that write, each of which is a transaction by itself. */
export interface WriteConnections {
  readonly writes: SqlClient.SqlClient
  /**
   * The same for statements that decide: the first one in a session is preceded by its admission, since the server behind a
   * new connection may be another one than before.
   */
  readonly decisions: SqlClient.SqlClient
  /** Sets the admission. Before that every session is admitted. */
  readonly admitBy: (admission: Admission) => Effect.Effect<void>
  /** The same for statements that rarely write. Their success does not show that writes succeed. */
  readonly polls: SqlClient.SqlClient
  /** The same connections, for questions about their sessions. Their outcome does not count as that of a write. */
  readonly sessions: SqlClient.SqlClient
  /** Replaces every connection before its next use. */
  readonly renew: Effect.Effect<void>
  readonly failedWrites: Effect.Effect<FailedWrites | undefined>
  /** The number of sessions that have waited too long for a standby to confirm their commit. */
  readonly waitingForStandby: Effect.Effect<number, SqlError>
}

export interface WriteOptions extends PgPool.Config, Pick<WriteConnections, "waitingForStandby"> {
  /** Finds the host, in place of that of the configuration. */
  readonly search?: HostSearch | undefined
}

const unsupported = Effect.die(new Error("a write is one statement, without a transaction around it"))

/** A session that runs single statements. */
export const connectionOf = (session: PgConnection): Connection => {
  const run = (sql: string, parameters: ReadonlyArray<unknown>, prepare: boolean) =>
    Effect.map(session.query(sql, parameters, prepare), ({ rows }) => rows)
  return {
    execute: (sql, parameters) => run(sql, parameters, true),
    executeUnprepared: (sql, parameters) => run(sql, parameters, false),
    executeRaw: (sql, parameters) => session.query(sql, parameters),
    executeValues: (sql, parameters) => session.queryValues(sql, parameters),
    executeValuesUnprepared: (sql, parameters) => session.queryValues(sql, parameters, false),
    executeStream: () => Stream.unwrap(unsupported)
  }
}

const standbyStalled = (): SqlError => {
  const message = "earlier writes still wait for a synchronous standby to confirm them"
  return new SqlError({
    reason: new UnknownError({ cause: new Error(message), message, operation: "query" })
  })
}

/**
 * Lets writes pass, unless an earlier one was abandoned and sessions still wait for a standby: each further write would
 * occupy a connection of the server that cannot be recovered.
 */
const makeStandbyGate = (waitingForStandby: WriteOptions["waitingForStandby"]) => {
  const oneAtATime = Semaphore.makeUnsafe(1)
  let isInDoubt = false
  let isWaiting = false
  let lookedAt = Number.NEGATIVE_INFINITY
  const look = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (isInDoubt && Math.abs(now - lookedAt) >= LOOK_PAUSE_MILLISECONDS) {
      lookedAt = now
      isWaiting = (yield* waitingForStandby) > 0
      isInDoubt = isWaiting
    }
    if (isWaiting) return yield* standbyStalled()
  })
  return {
    pass: Effect.suspend(() => (isInDoubt ? oneAtATime.withPermit(look) : Effect.void)),
    doubt: () => {
      isInDoubt = true
      isWaiting = true
      lookedAt = Number.NEGATIVE_INFINITY
    }
  }
}

/** Lends the connections of a pool, and offers how many are in use and how many statements wait for one. */
const countingUse = (
  { use: borrow }: Pick<ServerPool, "use">,
  observer: StoreObserver
): Pick<ServerPool, "use"> => {
  let busy = 0
  let awaited = 0
  observer.offer("busy_connections", () => busy)
  observer.offer("awaited_connections", () => awaited)
  return {
    use: (run) =>
      Effect.suspend(() => {
        let isLent = false
        awaited += 1
        return Effect.ensuring(
          borrow((session) => {
            isLent = true
            awaited -= 1
            busy += 1
            return run(session)
          }),
          Effect.sync(() => {
            if (isLent) busy -= 1
            else awaited -= 1
          })
        )
      })
  }
}

const EXPIRED: unique symbol = Symbol("expired")

/** A connection as it is lent out, and when it was first lent, in milliseconds. */
interface Lent {
  readonly connection: Connection
  readonly since: number
  isAdmitted: boolean
}

/** Why a session is not admitted. */
interface Refusal {
  readonly refusal: SqlError
}

const isRefusal = (result: unknown): result is Refusal =>
  typeof result === "object" && result !== null && "refusal" in result && isSqlError(result.refusal)

/**
 * Connections that never ask the server to cancel a statement. A commit that is cancelled while it waits for a synchronous
 * standby becomes visible without that standby, and a failover loses it. So a caller that gives up abandons its connection,
 * and the commit stays invisible until the standby has it. (The driver sends no cancel requests on multiplexed connections,
 * which is why the pool multiplexes with one statement per connection.)
 *
 * A connection is replaced at the end of its lifetime and when it was abandoned. All connections are replaced when the
 * server refuses for a reason that may lie in the session, such as a database that was read-only when the session began.
 */
export const makeWriteConnections = ({
  connectionTTL = WRITE_CONNECTION_LIFETIME,
  search,
  waitingForStandby,
  ...options
}: WriteOptions): Effect.Effect<WriteConnections, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const pool = yield* makeServerPool({ ...options, multiplex: true, multiplexConcurrency: 1 }, search)
    const clock = yield* Clock.Clock
    const lifetime = Duration.toMillis(Duration.fromInputUnsafe(connectionTTL))
    const gate = makeStandbyGate(waitingForStandby)
    const known = new WeakMap<PgConnection, Lent>()
    let renewedAt = Number.NEGATIVE_INFINITY
    let failedWrites: FailedWrites | undefined
    let admission: Admission | undefined

    /** A connection counts as usable the first time, so that the search for a usable one ends. */
    const usable = (session: PgConnection): Connection | undefined => {
      const now = clock.currentTimeMillisUnsafe()
      const lent = known.get(session)
      if (lent === undefined) {
        const connection = connectionOf(session)
        known.set(session, { connection, since: now, isAdmitted: false })
        return connection
      }
      return lent.since < renewedAt || now - lent.since >= lifetime ? undefined : lent.connection
    }

    const lendFrom =
      ({ use: borrow }: Pick<ServerPool, "use">) =>
      <A, E, R>(
        use: (connection: Connection, session: PgConnection) => Effect.Effect<A, E, R>
      ): Effect.Effect<A, E | SqlError, R> =>
        Effect.flatMap(
          borrow((session): Effect.Effect<A | typeof EXPIRED, E, R> => {
            const connection = usable(session)
            return connection === undefined
              ? Effect.as(pool.invalidate(session), EXPIRED)
              : use(connection, session)
          }),
          (result) => (result === EXPIRED ? lendFrom({ use: borrow })(use) : Effect.succeed(result as A))
        )
    const observer = yield* StoreObserver
    const lend = lendFrom(observer === undefined ? pool : countingUse(pool, observer))

    const renew = Effect.sync(() => {
      const now = clock.currentTimeMillisUnsafe()
      if (Math.abs(now - renewedAt) >= RENEWAL_PAUSE_MILLISECONDS) renewedAt = now
    })

    const noteFailure = (sqlState: string | undefined, isOfConnection: boolean): void => {
      const now = clock.currentTimeMillisUnsafe()
      failedWrites = { since: failedWrites?.since ?? now, last: now, sqlState, isOfConnection }
    }

    /** A session that was opened since and answers shows that a lost connection was all that was wrong. */
    const noteAnswer = (session: PgConnection): void => {
      const since = known.get(session)?.since
      if (failedWrites?.isOfConnection === true && since !== undefined && since >= failedWrites.last) {
        failedWrites = undefined
      }
    }

    const noteSuccess = <A>(result: A): A => {
      failedWrites = undefined
      return result
    }

    const onError = (error: unknown): Effect.Effect<void> => {
      const sqlState = sqlStateOf(error)
      if (refusesWrites(sqlState)) noteFailure(sqlState, sqlState === undefined)
      return isOfSession(sqlState) ? renew : Effect.void
    }

    const onGivenUp = (session: PgConnection): Effect.Effect<void> =>
      Effect.suspend(() => {
        noteFailure(undefined, false)
        gate.doubt()
        return pool.invalidate(session)
      })

    const toPoll: Borrower = (run) =>
      Effect.andThen(
        gate.pass,
        Effect.tapError(
          lend((connection, session) => Effect.onInterrupt(run(connection), () => onGivenUp(session))),
          onError
        )
      )

    const toWrite: Borrower = (run) => Effect.map(toPoll(run), noteSuccess)

    const admitted = (connection: Connection, lent: Lent | undefined): Effect.Effect<void, SqlError> =>
      Effect.suspend(() =>
        admission === undefined || lent?.isAdmitted === true
          ? Effect.void
          : Effect.map(admission(connection), () => {
              if (lent !== undefined) lent.isAdmitted = true
            })
      )

    const toDecide: Borrower = (run) => {
      const decide = <A, E, R>(
        connection: Connection,
        session: PgConnection,
        use: (connection: Connection) => Effect.Effect<A, E, R>
      ) =>
        Effect.matchEffect(admitted(connection, known.get(session)), {
          // Not a failure of a write: none was tried.
          onFailure: (refusal) => Effect.succeed<A | Refusal>({ refusal }),
          onSuccess: (): Effect.Effect<A | Refusal, E, R> => use(connection)
        })
      return Effect.flatMap(
        Effect.andThen(
          gate.pass,
          Effect.tapError(
            lend((connection, session) =>
              Effect.onInterrupt(decide(connection, session, run), () => onGivenUp(session))
            ),
            onError
          )
        ),
        (result) => (isRefusal(result) ? Effect.fail(result.refusal) : Effect.succeed(noteSuccess(result)))
      )
    }

    const toAsk: Borrower = (run) =>
      lend((connection, session) =>
        Effect.tap(
          Effect.onInterrupt(run(connection), () => pool.invalidate(session)),
          () => Effect.sync(() => noteAnswer(session))
        )
      )

    const clientOf = (borrower: Borrower) =>
      SqlClient.make({
        acquirer: unsupported,
        borrower,
        transactionAcquirer: unsupported,
        driver: "@effect/sql-pg",
        compiler: PgClient.makeCompiler(),
        spanAttributes: [["db.system.name", "postgresql"]]
      })
    return {
      writes: yield* clientOf(toWrite),
      decisions: yield* clientOf(toDecide),
      admitBy: (given) =>
        Effect.sync(() => {
          admission = given
        }),
      polls: yield* clientOf(toPoll),
      sessions: yield* clientOf(toAsk),
      renew: Effect.andThen(pool.doubt, renew),
      failedWrites: Effect.sync(() => failedWrites),
      waitingForStandby
    }
  })
