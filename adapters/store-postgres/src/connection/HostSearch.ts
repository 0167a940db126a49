import * as PgConnection from "@effect/sql-pg/PgConnection"
import { sharedRun } from "@svc/domain/engine/SharedRun"
import { Cause, Clock, Deferred, type Duration, Effect, Result, type Scope } from "effect"
import { ConnectionError, isSqlError, SqlError } from "effect/sql/SqlError"
import { type HostAnswer, isSame, writableOf } from "./HostAnswer.ts"
import type { ServerHost } from "./PostgresUrl.ts"
import { nameOfHost } from "./PostgresUrl.ts"

/** Longest that one of several hosts may take to say whether it takes writes, unless the URL has a `connect_timeout`. */
export const HOST_CONNECT_TIMEOUT: Duration.Input = "3 seconds"

/** How long the other hosts are still waited for once one takes writes: a second one would be a fault. */
const OTHERS_GRACE: Duration.Input = "300 millis"

/** Shortest time between the ends of two searches that found a host, in milliseconds. */
const SEARCH_PAUSE_MILLISECONDS = 1000

/** How long it counts that no host was found, in milliseconds. */
const FAILED_SEARCH_COUNTS_FOR_MILLISECONDS = 250

const STATE =
  "select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only"

const FOLLOWS = "select exists (select from pg_stat_wal_receiver) as follows"

const CLUSTER = "select system_identifier::text as value from pg_control_system()"
const TIMELINE = "select left(pg_walfile_name(pg_current_wal_lsn()), 8) as value"
const STARTED = "select (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint::text as value"

const firstRow = (session: PgConnection.PgConnection, question: string) =>
  Effect.map(session.query(question, [], false), ({ rows }) => rows[0] ?? {})

/** Null where the server keeps it to itself. */
const told = (session: PgConnection.PgConnection, question: string): Effect.Effect<string | null> =>
  Effect.orElseSucceed(
    Effect.map(firstRow(session, question), ({ value }) => (typeof value === "string" ? value : null)),
    () => null
  )

/** Asks one host, in a session of its own, which is then closed. */
const ask = (config: PgConnection.Config, { host, port }: ServerHost): Effect.Effect<HostAnswer> =>
  Effect.gen(function* () {
    const session = yield* PgConnection.make({ ...config, host, port })
    const { is_read_only: isReadOnly, is_standby: isStandby } = yield* firstRow(session, STATE)
    if (isStandby === true) {
      const { follows } = yield* firstRow(session, FOLLOWS)
      return {
        host,
        port,
        kind: "standby",
        cluster: yield* told(session, CLUSTER),
        follows: follows === true
      } as const
    }
    if (isReadOnly === true) return { host, port, kind: "read_only" } as const
    const cluster = yield* told(session, CLUSTER)
    const identity = {
      cluster,
      timeline: yield* told(session, TIMELINE),
      // A database that has no cluster to tell may well be several servers with the same data, all of which take writes.
      started: cluster === null ? null : yield* told(session, STARTED)
    }
    return { host, port, kind: "writable", identity } as const
  }).pipe(
    Effect.scoped,
    Effect.timeout(config.connectTimeout ?? HOST_CONNECT_TIMEOUT),
    Effect.catchCause((cause) =>
      Effect.succeed({ host, port, kind: "failed", fault: faultIn(cause) } as const)
    )
  )

const faultIn = (cause: Cause.Cause<unknown>): unknown => {
  const fault = Cause.squash(cause)
  if (!Cause.isTimeoutError(fault)) return fault
  return new SqlError({
    reason: new ConnectionError({ cause: fault, message: "Connection timed out", operation: "connect" })
  })
}

/** Asks all hosts at once, and waits for all. */
export const askHosts = (
  config: PgConnection.Config,
  hosts: ReadonlyArray<ServerHost>
): Effect.Effect<ReadonlyArray<HostAnswer>> =>
  Effect.forEach(hosts, (host) => ask(config, host), { concurrency: "unbounded" })

/** Asks all hosts at once. Once one takes writes, the others are not waited for much longer. */
const askUntilFound = (config: PgConnection.Config, hosts: ReadonlyArray<ServerHost>) =>
  Effect.gen(function* () {
    const found = yield* Deferred.make<void>()
    const answers: Array<HostAnswer | undefined> = hosts.map(() => undefined)
    const asked = Effect.forEach(
      hosts,
      (host, at) =>
        Effect.tap(ask(config, host), (answer) => {
          answers[at] = answer
          return answer.kind === "writable" ? Deferred.succeed(found, undefined) : Effect.void
        }),
      { concurrency: "unbounded", discard: true }
    )
    yield* Effect.race(asked, Effect.andThen(Deferred.await(found), Effect.sleep(OTHERS_GRACE)))
    return answers.filter((answer) => answer !== undefined)
  })

/** Finds, among several hosts, the one that takes writes, and finds it again when there is a reason to doubt it. */
export interface HostSearch {
  /** The host that took writes when it was last asked. */
  readonly host: Effect.Effect<ServerHost, SqlError>
  /** Asks again before the next use. */
  readonly doubt: Effect.Effect<void>
}

export const makeHostSearch = (
  config: PgConnection.Config,
  hosts: ReadonlyArray<ServerHost>
): Effect.Effect<HostSearch, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const clock = yield* Clock.Clock
    let found: ServerHost | undefined
    let isDoubted = false
    let foundAt = Number.NEGATIVE_INFINITY
    let failed: { readonly fault: SqlError; readonly at: number } | undefined

    const report = (host: ServerHost): Effect.Effect<void> => {
      if (isSame(host, found)) return Effect.void
      const annotated = Effect.annotateLogs({ database_host: nameOfHost(host) })
      return found === undefined
        ? annotated(Effect.logDebug("the database takes writes on this host"))
        : annotated(Effect.logWarning("the database takes writes on another host than before"))
    }

    const search = Effect.gen(function* () {
      isDoubted = false
      const result = writableOf(yield* askUntilFound(config, hosts), found)
      const at = clock.currentTimeMillisUnsafe()
      if (Result.isFailure(result)) {
        const { message } = result.failure
        const reason = new ConnectionError({ cause: result.failure, message, operation: "connect" })
        failed = { at, fault: new SqlError({ reason }) }
        return yield* failed.fault
      }
      yield* report(result.success)
      found = result.success
      foundAt = at
      failed = undefined
      return found
    })
    const sharedSearch = sharedRun(search, scope)

    const since = (at: number): number => Math.abs(clock.currentTimeMillisUnsafe() - at)
    const host = Effect.suspend(() => {
      if (failed !== undefined) {
        return since(failed.at) < FAILED_SEARCH_COUNTS_FOR_MILLISECONDS
          ? Effect.fail(failed.fault)
          : sharedSearch
      }
      const isTrusted = !isDoubted || since(foundAt) < SEARCH_PAUSE_MILLISECONDS
      return found !== undefined && isTrusted ? Effect.succeed(found) : sharedSearch
    })
    return {
      host,
      doubt: Effect.sync(() => {
        isDoubted = true
      })
    }
  })

/** Whether a failure may mean that the server is another one now. */
export const doubtsHost = (error: unknown, sqlState: string | undefined): boolean =>
  isSqlError(error) && (sqlState === undefined || /^(?:08|25|57P)/u.test(sqlState))
