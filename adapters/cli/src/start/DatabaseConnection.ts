import type { PostgresAddress } from "@svc/store-postgres/connection/PostgresUrl"
import { serverConnection } from "@svc/store-postgres/connection/ServerConnection"
import type { PostgresOptions } from "@svc/store-postgres/PostgresStore"
import { Clock, Console, Context, Duration, Effect, type Redacted, Result } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { databaseFault, isTransient } from "./DatabaseFault.ts"
import { configurationFault, type StartFault, temporaryFault } from "./StartFault.ts"

/** How long a start keeps trying to reach its database. */
export const START_PATIENCE: Duration.Input = "30 seconds"

export class StartPatience extends Context.Reference<Duration.Input>("@svc/cli/start/StartPatience", {
  defaultValue: () => START_PATIENCE
}) {}

/** Every attempt has at least this long, even one that begins shortly before the end. */
const MIN_ATTEMPT_TIMEOUT_MS = 10_000

/** Pause between two attempts. */
const RETRY_PAUSE: Duration.Input = "500 millis"

/** Effect reports a connection that is lost within a transaction as a defect. */
const sqlErrorAsFailure = (defect: unknown): Effect.Effect<never, SqlError> =>
  isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect)

/**
 * Repeats an attempt while it fails with transient errors of the connection, for at most `StartPatience`. The first of them
 * is printed to standard error, so that the operator knows what the start is waiting for.
 */
export const retryWhileUnreachable = Effect.fnUntraced(function* <A, E, R>(
  address: PostgresAddress,
  attempt: Effect.Effect<A, E, R>
): Effect.fn.Return<A, E | SqlError | StartFault, R> {
  const patience = Duration.fromInputUnsafe(yield* StartPatience)
  const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(patience)
  const patienceText = Duration.format(patience)
  let isFirst = true
  for (;;) {
    const left = Math.max(MIN_ATTEMPT_TIMEOUT_MS, deadline - (yield* Clock.currentTimeMillis))
    const result = yield* Effect.result(Effect.timeout(Effect.catchDefect(attempt, sqlErrorAsFailure), left))
    if (Result.isSuccess(result)) return result.success
    const failure = result.failure
    if (!isTransient(failure)) return yield* Effect.fail(failure as E)
    const { line } = databaseFault(failure, address)
    if ((yield* Clock.currentTimeMillis) >= deadline) {
      return yield* temporaryFault(`${line}; tried for ${patienceText}`)
    }
    if (isFirst) yield* Console.error(`${line}; trying for ${patienceText}`)
    isFirst = false
    yield* Effect.sleep(RETRY_PAUSE)
  }
})

/** The address and the options of the server that `SVC_STORE` names, with the partitions that are asked for. */
export const connectionTo = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  partitions?: number
): Effect.fn.Return<{ readonly address: PostgresAddress; readonly options: PostgresOptions }, StartFault> {
  const { address, options } = yield* Effect.mapError(serverConnection(url), ({ file }) =>
    configurationFault(`the file ${file}, which SVC_STORE names as sslrootcert, cannot be read`)
  )
  return { address, options: { ...options, ...(partitions === undefined ? {} : { partitions }) } }
})
