import { NANOS_PER_SECOND, type Nanos } from "@svc/protocol/Timestamp"
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { type KeptFor, StoreCleaning } from "../ports/StoreCleaning.ts"
import { pauseAfterFailures, pauseWhileIdle } from "./WorkerPause.ts"

const SECONDS_PER_DAY = 86_400n

export const NANOS_PER_DAY: Nanos = SECONDS_PER_DAY * NANOS_PER_SECOND

/** How long webhook deliveries are kept after they ended, by default, in days. */
export const WEBHOOK_RETENTION_DAYS = 30

/**
 * How long the `jti` of an identity assertion is kept after the contract lets it be used again (an hour after the assertion's
 * `exp`, part 6), by default, in days. It covers a store's clock that is set back.
 */
export const ASSERTION_RETENTION_DAYS = 1

/** Shortest that anything which ages may be kept, in days. So nothing goes before the contract lets it. */
export const MIN_RETENTION_DAYS = 1

/** Longest that anything which ages may be kept, in days. */
export const MAX_RETENTION_DAYS = 36_500

/** Whether what ages may be kept for so many days: a whole number of 1 to 36,500. */
export const isRetentionDays = (days: number): boolean =>
  Number.isInteger(days) && days >= MIN_RETENTION_DAYS && days <= MAX_RETENTION_DAYS

/** For how many days each kind of row that ages is kept. */
export interface RetentionDays {
  /** Webhook deliveries, after they were delivered or exhausted. */
  readonly webhookRetentionDays: number
  /** Identifiers of identity assertions, after they could be used again. */
  readonly assertionRetentionDays: number
}

const keptFor = ({ assertionRetentionDays, webhookRetentionDays }: RetentionDays): KeptFor => ({
  deliveries: BigInt(webhookRetentionDays) * NANOS_PER_DAY,
  claims: BigInt(assertionRetentionDays) * NANOS_PER_DAY
})

/** How long each kind of row that ages is kept. */
export const Retention = Context.Reference<KeptFor>("@svc/domain/workers/Retention", {
  defaultValue: () =>
    keptFor({
      webhookRetentionDays: WEBHOOK_RETENTION_DAYS,
      assertionRetentionDays: ASSERTION_RETENTION_DAYS
    })
})

/** Keeps what ages for so many days. */
export const retention = (days: RetentionDays): Layer.Layer<never> => Layer.succeed(Retention, keptFor(days))

/** Rows that one step removes at most, so that it holds its locks for milliseconds. */
export const CLEANING_BATCH = 500
/** Organizations that one step looks at. */
export const CLEANING_ORGANIZATIONS = 100
/** Pause between two steps, in milliseconds: cleaning leaves the store to others most of the time. */
export const CLEANING_PAUSE_MILLISECONDS = 200
/** Pause after the last organization, in milliseconds. */
export const CLEANING_INTERVAL_MILLISECONDS = 600_000

/** What the next step begins with. */
interface Progress {
  readonly after: string | undefined
  readonly failures: number
  readonly pauseMilliseconds: number
}

const step = Effect.fnUntraced(function* (
  after: string | undefined
): Effect.fn.Return<Progress, StoreUnavailable, StoreCleaning> {
  const store = yield* StoreCleaning
  const { next, removed } = yield* store.clean({
    ...(after === undefined ? {} : { after }),
    organizations: CLEANING_ORGANIZATIONS,
    limit: CLEANING_BATCH,
    now: yield* Clock.currentTimeNanos,
    keptFor: yield* Retention
  })
  if (removed > 0) yield* Effect.annotateLogs(Effect.logDebug("old rows are removed"), { rows: removed })
  return {
    after: next,
    failures: 0,
    pauseMilliseconds: next === undefined ? CLEANING_INTERVAL_MILLISECONDS : CLEANING_PAUSE_MILLISECONDS
  }
})

/** A step that is begun is finished even if the worker is interrupted. */
const stepOrPause = ({ after, failures }: Progress): Effect.Effect<Progress, never, StoreCleaning> =>
  Effect.matchCauseEffect(Effect.uninterruptible(step(after)), {
    onSuccess: Effect.succeed,
    onFailure: (cause) => {
      const pauseMilliseconds = pauseAfterFailures(failures + 1)
      return Effect.logWarning("old rows cannot be removed; trying again", cause).pipe(
        Effect.annotateLogs({ pause_ms: pauseMilliseconds }),
        Effect.as({ after, failures: failures + 1, pauseMilliseconds })
      )
    }
  })

/**
 * Removes what nobody needs any more, organization by organization in small steps, until it is interrupted. Any number of
 * workers share one store. While the store is unavailable it asks less and less often, and recovers by itself.
 */
export const cleaningWorker: Effect.Effect<never, never, StoreCleaning> = Effect.gen(function* () {
  let progress: Progress = { after: undefined, failures: 0, pauseMilliseconds: 0 }
  for (;;) {
    progress = yield* stepOrPause(progress)
    const { failures, pauseMilliseconds } = progress
    yield* failures === 0 ? pauseWhileIdle(pauseMilliseconds) : Effect.sleep(pauseMilliseconds)
  }
})
