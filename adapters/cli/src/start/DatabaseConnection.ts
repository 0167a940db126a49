import { readFile } from "node:fs/promises"
import { type ConnectionOptions, getCACertificates } from "node:tls"
import type { PostgresOptions } from "@svc/store-postgres/PostgresStore"
import { Clock, Console, Context, Duration, Effect, Redacted, Result } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { type PostgresAddress, postgresAddressOf } from "../config/PostgresUrl.ts"
import { databaseFault, isPassing, nameOf } from "./DatabaseFault.ts"
import { badSetting, EXIT_TEMPORARY, StartFault } from "./StartFault.ts"

/** Longest that a start waits for a database that may come to be within reach. */
export const START_PATIENCE: Duration.Input = "30 seconds"

export class StartPatience extends Context.Reference<Duration.Input>("@svc/cli/StartPatience", {
  defaultValue: () => START_PATIENCE
}) {}

/** Least that one attempt is given, so that the last one is not cut short. */
const LEAST_ATTEMPT_MILLISECONDS = 10_000

/** Time between two attempts. */
const RETRY_PAUSE: Duration.Input = "500 millis"

/** A connection that is lost within a transaction shows as a defect. */
const failOfStatement = (defect: unknown): Effect.Effect<never, SqlError> =>
  isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect)

/**
 * Attempts it until it succeeds, as long as it fails for what may pass by itself. The first time that it does so is told at
 * once, on the standard error: whoever started this may know better than to wait.
 */
export const patiently = Effect.fnUntraced(function* <A, E, R>(
  address: PostgresAddress,
  attempt: Effect.Effect<A, E, R>
): Effect.fn.Return<A, E | SqlError | StartFault, R> {
  const patience = Duration.fromInputUnsafe(yield* StartPatience)
  const ends = (yield* Clock.currentTimeMillis) + Duration.toMillis(patience)
  const told = Duration.format(patience)
  let isFirst = true
  for (;;) {
    const left = Math.max(LEAST_ATTEMPT_MILLISECONDS, ends - (yield* Clock.currentTimeMillis))
    const tried = yield* Effect.result(Effect.timeout(Effect.catchDefect(attempt, failOfStatement), left))
    if (Result.isSuccess(tried)) return tried.success
    const fault = tried.failure
    if (!isPassing(fault)) return yield* Effect.fail(fault as E)
    const { line } = databaseFault(fault, address)
    if ((yield* Clock.currentTimeMillis) >= ends) {
      return yield* new StartFault({ line: `${line}; tried for ${told}`, exitCode: EXIT_TEMPORARY })
    }
    if (isFirst) yield* Console.error(`${line}; trying for ${told}`)
    isFirst = false
    yield* Effect.sleep(RETRY_PAUSE)
  }
})

const trustOf = (rootCertificate: string): Effect.Effect<ConnectionOptions, StartFault> =>
  rootCertificate === "system"
    ? Effect.sync(() => ({ ca: getCACertificates("system") }))
    : Effect.tryPromise({
        try: async () => ({ ca: await readFile(rootCertificate) }),
        catch: () =>
          badSetting(`the file ${rootCertificate}, which SVC_STORE names as sslrootcert, cannot be read`)
      })

/** How the server that `SVC_STORE` names is connected to. */
export const connectionTo = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const address = postgresAddressOf(Redacted.value(url))
  const { applicationName, connectTimeoutSeconds: seconds, rootCertificate } = address
  const options: PostgresOptions = {
    url: Redacted.make(address.url, { label: "database" }),
    ...(rootCertificate === undefined ? {} : { tls: yield* trustOf(rootCertificate) }),
    ...(applicationName === undefined ? {} : { applicationName }),
    ...(seconds === undefined
      ? {}
      : { connectTimeout: seconds === 0 ? Duration.infinity : Duration.seconds(seconds) })
  }
  return { address, options }
})

/** A pooler that passes sessions on without what they asked for would lose what was acknowledged. */
export const settingsFault = (address: PostgresAddress, ignored: ReadonlyArray<string>): StartFault =>
  badSetting(
    `${nameOf(address)}: sessions do not have the ${ignored.join(", ")} that they ask for, as behind PgBouncer with ignore_startup_parameters: name the server itself`
  )
