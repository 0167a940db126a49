import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Cause, Context, Data, type Duration, Effect } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { UnreadableRecord } from "../RecordCodec.ts"
import { isOfData, sqlStateOf } from "./SqlState.ts"

/** Longest that one statement may take, unless the caller says otherwise. A frozen server never responds by itself. */
export const CALL_TIMEOUT: Duration.Input = "10 seconds"

/** Longest that a caller waits for one statement. */
export class CallTimeout extends Context.Reference<Duration.Input>(
  "@svc/store-postgres/connection/CallTimeout",
  {
    defaultValue: () => CALL_TIMEOUT
  }
) {}

const RETRY_AFTER_SECONDS = 1

/** How often a statement that the server aborted to end a deadlock is sent again. */
const DEADLOCK_RETRIES = 4

/**
 * The server refuses a statement because of its content and would refuse it again: a fault of this program or of the
 * database, which no retry fixes. It is a defect, so that no caller is told to retry.
 */
export class StatementRefused extends Data.Error<{
  readonly sqlState: string
  readonly message: string
}> {
  override readonly name = "StatementRefused"
}

/** The error without the rows and statements that the server quotes, since logs must hold neither. */
const refusedBy = (sqlState: string, fault: unknown): StatementRefused => {
  const cause = isSqlError(fault) ? fault.reason.cause : undefined
  const said = cause instanceof Error ? cause.message : "no message"
  return new StatementRefused({
    sqlState,
    message: `the database refuses a statement for good: SQLSTATE ${sqlState}, ${said}`
  })
}

const unavailable = (cause: unknown): StoreUnavailable =>
  new StoreUnavailable({ cause, retryAfterSeconds: RETRY_AFTER_SECONDS })

const isFault = (error: unknown): boolean =>
  isSqlError(error) || error instanceof UnreadableRecord || Cause.isTimeoutError(error)

const faultIn = (cause: Cause.Cause<unknown>): unknown => {
  for (const reason of cause.reasons) {
    if (Cause.isFailReason(reason) && isFault(reason.error)) return reason.error
    if (Cause.isDieReason(reason) && isFault(reason.defect)) return reason.defect
  }
  return undefined
}

/** A statement aborted for this reason left nothing behind, and the other session has continued. */
const isDeadlock = (error: unknown): boolean => isSqlError(error) && error.reason._tag === "DeadlockError"

/** The failures that {@link guarded} handles. */
type FaultError = SqlError | UnreadableRecord | Cause.TimeoutError

/** Fails as a cause says, unless that is an interruption of others. */
const failAs = <E>(cause: Cause.Cause<E>): Effect.Effect<never, E | StoreUnavailable> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.fail(new StoreUnavailable({ cause: "the store is closing" }))
    : Effect.failCause(cause)

/**
 * A store that closes interrupts what it still does. Whoever waits for that is not interrupted and is told; who is interrupted
 * is not told, since nothing of it runs any more.
 */
export const untilClosed = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E | StoreUnavailable> =>
  Effect.catchCause(work, failAs)

/**
 * Runs one statement, a transaction by itself. It fails with `StoreUnavailable` if the database cannot be reached, does not
 * respond in time, refuses, or holds records of a later release, whether that shows as a failure or as a defect. A
 * statement that is refused because of its content is the defect {@link StatementRefused}.
 */
export const guarded = <A, E>(
  statement: Effect.Effect<A, E>
): Effect.Effect<A, StoreUnavailable | Exclude<E, FaultError>> =>
  Effect.catchCause(
    CallTimeout.use((timeout) =>
      Effect.timeout(Effect.retry(statement, { times: DEADLOCK_RETRIES, while: isDeadlock }), timeout)
    ),
    (cause): Effect.Effect<never, StoreUnavailable | Exclude<E, FaultError>> => {
      const fault = faultIn(cause)
      const sqlState = sqlStateOf(fault)
      if (sqlState !== undefined && isOfData(sqlState)) return Effect.die(refusedBy(sqlState, fault))
      if (fault !== undefined) return Effect.fail(unavailable(fault))
      return failAs(cause as Cause.Cause<Exclude<E, FaultError>>)
    }
  )
