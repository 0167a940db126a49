import type { PgConnection } from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import { Effect, Exit, Scope, Semaphore } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { doubtsHost, type HostSearch } from "./HostSearch.ts"
import type { ServerHost } from "./PostgresUrl.ts"
import { sqlStateOf } from "./SqlState.ts"

/** Sessions on a server. */
export interface ServerPool extends Pick<PgPool.PgPool, "use" | "reserve" | "invalidate"> {
  /** Something suggests that the server takes no writes any more. */
  readonly doubt: Effect.Effect<void>
}

/** The pool of one host, which is closed when another host has taken its place and nobody uses it any more. */
interface HostPool {
  readonly host: ServerHost
  readonly pool: PgPool.PgPool
  readonly scope: Scope.Closeable
  users: number
  isReplaced: boolean
}

/**
 * A pool on the host that takes writes, of several: when that is another one, new uses get sessions there, and those of the
 * host before are closed. A use that fails so that the server may be lost, or is given up, has the host looked for again.
 */
const makeFollowingPool = (
  config: PgPool.Config,
  search: HostSearch
): Effect.Effect<ServerPool, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const oneAtATime = Semaphore.makeUnsafe(1)
    let current: HostPool | undefined

    /** The current pool, if it is that of the host. */
    const poolOn = ({ host, port }: ServerHost): HostPool | undefined =>
      current?.host.host === host && current.host.port === port ? current : undefined

    const close = (one: HostPool): Effect.Effect<unknown> =>
      one.isReplaced && one.users === 0
        ? Effect.forkIn(Scope.close(one.scope, Exit.void), scope)
        : Effect.void

    // Counted in the moment in which it is chosen, so that nobody closes it in between.
    const entered = (one: HostPool): HostPool => {
      one.users += 1
      return one
    }

    const open = (host: ServerHost): Effect.Effect<HostPool, SqlError> =>
      Effect.gen(function* () {
        const present = poolOn(host)
        if (present !== undefined) return entered(present)
        const own = yield* Scope.fork(scope)
        const pool = yield* Scope.provide(PgPool.make({ ...config, host: host.host, port: host.port }), own)
        const before = current
        const opened: HostPool = { host, pool, scope: own, users: 1, isReplaced: false }
        current = opened
        if (before !== undefined) {
          before.isReplaced = true
          yield* close(before)
        }
        return opened
      })

    const enter = (host: ServerHost): Effect.Effect<HostPool, SqlError> =>
      Effect.suspend(() => {
        const present = poolOn(host)
        return present === undefined ? oneAtATime.withPermit(open(host)) : Effect.succeed(entered(present))
      })

    const leave = (one: HostPool): Effect.Effect<unknown> =>
      Effect.suspend(() => {
        one.users -= 1
        return close(one)
      })

    const noting = <A, E, R>(use: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      use.pipe(
        Effect.tapError((error) => (doubtsHost(error, sqlStateOf(error)) ? search.doubt : Effect.void)),
        Effect.onInterrupt(() => search.doubt)
      )

    return {
      use: <A, E, R>(run: (session: PgConnection) => Effect.Effect<A, E, R>) =>
        Effect.flatMap(search.host, (host) =>
          Effect.acquireUseRelease(
            enter(host),
            ({ pool }) => noting(pool.use(run)),
            (one) => leave(one)
          )
        ),
      reserve: Effect.flatMap(search.host, (host) =>
        Effect.flatMap(Effect.acquireRelease(enter(host), leave), ({ pool }) => noting(pool.reserve))
      ),
      invalidate: (session) => Effect.suspend(() => current?.pool.invalidate(session) ?? Effect.void),
      doubt: search.doubt
    }
  })

/** Sessions on the server of the configuration, or on the host of several that takes writes. */
export const makeServerPool = (
  config: PgPool.Config,
  search?: HostSearch
): Effect.Effect<ServerPool, SqlError, Scope.Scope> =>
  search === undefined
    ? Effect.map(PgPool.make(config), ({ invalidate, reserve, use }) => ({
        invalidate,
        reserve,
        use,
        doubt: Effect.void
      }))
    : makeFollowingPool(config, search)
