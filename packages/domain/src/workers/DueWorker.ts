import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { readStream } from "../engine/ReadStream.ts"
import { DueLeases, type DueStream } from "../ports/DueLeases.ts"
import { type MandateStore, StoreUnavailable } from "../ports/MandateStore.ts"
import { Randomness } from "../ports/Randomness.ts"
import { IDLE_PAUSE_MILLISECONDS, pauseAfterFailures, pauseWhileIdle } from "./WorkerPause.ts"

/** Streams that are leased at a time. */
export const DUE_BATCH = 64
/** How long a lease lasts, in seconds: longer than a batch takes, so that no two workers do the same. */
const LEASE_SECONDS = 30n
/** Streams of a batch that are brought up to date at once. */
const AT_ONCE = 8
/** Longest that one stream may take, and so longest that a stopping worker continues with it. */
export const STREAM_TIMEOUT = "10 seconds"
/** Longest that a stopping worker tries to release its leases, which expire by themselves. */
const RELEASE_TIMEOUT = "1 second"

const TOKEN_BYTES = 16

type Ports = DueLeases | MandateStore | Randomness

/**
 * Appends what is due on one stream, and returns whether that succeeded. Once begun it is finished even if interrupted. The
 * stream's revision fences the append, so it does not matter whether the lease is still valid.
 */
const appendDueOf = ({
  mandate,
  organization
}: DueStream): Effect.Effect<boolean, never, MandateStore | Randomness> =>
  readStream({ organization, stream: { mandate } }).pipe(
    Effect.interruptible,
    Effect.timeoutOrElse({
      duration: STREAM_TIMEOUT,
      orElse: () => Effect.fail(new StoreUnavailable({ cause: "a stream took too long" }))
    }),
    Effect.uninterruptible,
    Effect.matchCauseEffect({
      onSuccess: ({ head, state }) =>
        Effect.as(
          Effect.annotateLogs(Effect.logInfo("due transitions are recorded"), {
            seq: head.seq,
            state: state.mandate.state
          }),
          true
        ),
      onFailure: (cause) =>
        Effect.as(
          Effect.logWarning("a stream is left to a later try, when its lease has run out", cause),
          false
        )
    }),
    Effect.annotateLogs({ organization_id: organization, mandate_id: mandate })
  )

/**
 * One round: leases a batch, appends what is due on each of its streams, releases those. A stream that fails keeps its
 * lease until that expires, so it neither stops the others nor is tried again at once. Interrupted, the round finishes
 * the streams that it has begun and releases the others. Returns the number of streams.
 */
export const recordDueTransitions: Effect.Effect<number, StoreUnavailable, Ports> = Effect.gen(function* () {
  const leases = yield* DueLeases
  const randomness = yield* Randomness
  const token = encodeBase64Url(randomness.bytes(TOKEN_BYTES))
  const failed = new Set<DueStream>()
  const work = (streams: ReadonlyArray<DueStream>) =>
    Effect.forEach(
      streams,
      (stream) =>
        Effect.map(appendDueOf(stream), (isDone) => {
          if (!isDone) failed.add(stream)
        }),
      { concurrency: AT_ONCE, discard: true }
    )
  const giveBack = (streams: ReadonlyArray<DueStream>) =>
    streams.length === failed.size
      ? Effect.void
      : leases.release({ token, streams: streams.filter((stream) => !failed.has(stream)) }).pipe(
          Effect.interruptible,
          Effect.timeout(RELEASE_TIMEOUT),
          Effect.catchCause((cause) => Effect.logDebug("leases are left to run out", cause))
        )
  return yield* Effect.acquireUseRelease(
    leases.take({ token, limit: DUE_BATCH, lasts: LEASE_SECONDS * NANOS_PER_SECOND }),
    (streams) => Effect.as(work(streams), streams.length),
    giveBack
  )
})

/** What the worker does after a round, and how many rounds in a row the store has failed. */
interface After {
  readonly failures: number
  readonly pauseMilliseconds: number
}

const afterFailures = (failures: number): After => ({
  failures,
  pauseMilliseconds: pauseAfterFailures(failures)
})

const round = (failures: number): Effect.Effect<After, never, Ports> =>
  Effect.matchCauseEffect(recordDueTransitions, {
    onSuccess: (streams) =>
      Effect.succeed({ failures: 0, pauseMilliseconds: streams < DUE_BATCH ? IDLE_PAUSE_MILLISECONDS : 0 }),
    onFailure: (cause) => {
      const after = afterFailures(failures + 1)
      return Effect.logWarning("due transitions cannot be looked for; trying again", cause).pipe(
        Effect.annotateLogs({ pause_ms: after.pauseMilliseconds }),
        Effect.as(after)
      )
    }
  })

/**
 * Records due transitions until it is interrupted (part 4: reads never wait for it, it only makes them timely). Any
 * number of workers share one store. Idle, it asks once a second; a whole batch is followed by the next at once. While
 * the store is unavailable it asks less and less often, and recovers by itself.
 */
export const dueWorker: Effect.Effect<never, never, Ports> = Effect.gen(function* () {
  let failures = 0
  for (;;) {
    const after = yield* round(failures)
    failures = after.failures
    const isIdle = failures === 0 && after.pauseMilliseconds > 0
    yield* isIdle ? pauseWhileIdle(after.pauseMilliseconds) : Effect.sleep(after.pauseMilliseconds)
  }
})
