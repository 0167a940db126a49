import { type Instant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Clock, Effect, Exit } from "effect"
import type { Randomness } from "../ports/Randomness.ts"
import type { LeasedDelivery, WebhookStore } from "../ports/WebhookStore.ts"
import type { AttemptResult } from "../webhook/WebhookDelivery.ts"
import type { StoredEndpoint } from "../webhook/WebhookEndpoint.ts"
import { type EndedAttempt, recordEnds, recordEndsTogether } from "./WebhookAttempts.ts"
import { pauseAfterFailures, sleepUntilElapsed } from "./WorkerPause.ts"

/** Least time between two writes, in nanoseconds: attempts that end in between are recorded together. */
const WRITE_EVERY = 10n * NANOS_PER_MILLISECOND
/**
 * While more than a few attempts are under way, ends wait until they are this part of them, at most for the longest wait: each
 * write costs something for each of its endpoints, but what is not recorded counts as under way.
 */
const FEW_ATTEMPTS = 8
const ENDED_DIVISOR = 2
const LONGEST_WAIT = "20 millis"

type KnownEnd = EndedAttempt & { readonly result: AttemptResult }

/** The end of an attempt, and when its lease has certainly expired, on this process's monotonic clock. */
interface UnrecordedEnd {
  readonly attempt: KnownEnd
  readonly until: bigint
}

/** What a worker knows of one endpoint while attempts of it are under way or not recorded. */
interface Ledger {
  known: StoredEndpoint
  /** Attempts that were begun and are neither recorded nor given up. */
  open: number
  ended: Array<UnrecordedEnd>
  isWriting: boolean
  /** Failed writes in a row. */
  failures: number
}

/** When an attempt was over, by the clock of the store that opened it. */
const endOf = ({ delivery, result }: KnownEnd): Instant =>
  (delivery.open?.at ?? 0n) + BigInt(Math.ceil(result.durationMs)) * NANOS_PER_MILLISECOND

/** The latest end, as of which all of them are recorded, so that the instants of an endpoint's records never turn back. */
const lastEnd = (ended: ReadonlyArray<KnownEnd>): Instant => {
  let last = 0n
  for (const end of ended.map(endOf)) if (end > last) last = end
  return last
}

type Ports = WebhookStore | Randomness

/** `run` starts a write in the background. `settled` receives the number of attempts that were recorded or given up. */
interface RecorderOptions {
  readonly run: (write: Effect.Effect<void, never, Ports>) => void
  readonly settled: (count: number) => void
}

/**
 * Records the results of attempts; those of `WRITE_EVERY` go into one write, whatever their endpoints. An endpoint that is
 * being changed concurrently, or whose write fails, is written alone, so that it does not hold up others. A failed write is
 * retried until the leases have expired, when the attempts count as `worker_lost`. If the store recorded a result but its
 * confirmation was lost, the attempt is no longer open and is not counted twice.
 */
export const makeRecorder = ({ run, settled }: RecorderOptions) => {
  const ledgers = new Map<string, Ledger>()
  let isFlushing = false
  let writtenAt = 0n
  /** Attempts of all ledgers that are open, and those of them that have ended and that no write has. */
  let openCount = 0
  let endedCount = 0
  /** Goes on with a write that waits for more to end. */
  let enough: (() => void) | undefined

  const settle = (ledger: Ledger, count: number): void => {
    openCount -= count
    ledger.open -= count
    if (ledger.open === 0) ledgers.delete(ledger.known.endpoint.id)
    settled(count)
  }

  const take = (ledger: Ledger): ReadonlyArray<UnrecordedEnd> => {
    const taken = ledger.ended
    endedCount -= taken.length
    ledger.ended = []
    ledger.isWriting = true
    return taken
  }

  const done = (ledger: Ledger, known: StoredEndpoint, count: number): void => {
    ledger.known = known
    ledger.failures = 0
    ledger.isWriting = false
    settle(ledger, count)
  }

  const writeAlone = Effect.fnUntraced(function* (ledger: Ledger, taken: ReadonlyArray<UnrecordedEnd>) {
    const ended = taken.map(({ attempt }) => attempt)
    const recorded = yield* Effect.exit(recordEnds(ledger.known, ended, lastEnd(ended)))
    if (Exit.isSuccess(recorded)) done(ledger, recorded.value, taken.length)
    else {
      const now = yield* Clock.monotonicTimeNanos
      const kept = taken.filter(({ until }) => now < until)
      ledger.failures += 1
      yield* Effect.logWarning("ends of webhook attempts are not recorded", recorded.cause).pipe(
        Effect.annotateLogs({
          organization_id: ledger.known.endpoint.organizationId,
          webhook_endpoint_id: ledger.known.endpoint.id,
          tried_again: kept.length,
          lost: taken.length - kept.length
        })
      )
      if (kept.length > 0) yield* Effect.sleep(pauseAfterFailures(ledger.failures))
      ledger.ended = [...kept, ...ledger.ended]
      endedCount += kept.length
      ledger.isWriting = false
      settle(ledger, taken.length - kept.length)
    }
    yield* flush
  })

  const writeTogether = Effect.fnUntraced(function* (batch: ReadonlyArray<Ledger>) {
    const groups = batch.map((ledger) => {
      const taken = take(ledger)
      const ended = taken.map(({ attempt }) => attempt)
      return { ledger, taken, known: ledger.known, ended, now: lastEnd(ended) }
    })
    const recorded = yield* Effect.exit(recordEndsTogether(groups))
    groups.forEach(({ ledger, taken }, at) => {
      const known = Exit.isSuccess(recorded) ? recorded.value[at] : undefined
      if (known === undefined) run(writeAlone(ledger, taken))
      else done(ledger, known, taken.length)
    })
  })

  const readyLedgers = (): ReadonlyArray<Ledger> =>
    [...ledgers.values()].filter(({ ended, isWriting }) => ended.length > 0 && !isWriting)

  const haveEnoughEnded = (): boolean => openCount <= FEW_ATTEMPTS || endedCount * ENDED_DIVISOR >= openCount

  const untilEnoughEnded = Effect.callback<void>((resume) => {
    enough = () => {
      enough = undefined
      resume(Effect.void)
    }
    if (haveEnoughEnded()) enough()
  })

  /** Writes until there is nothing left that can be written now. */
  const flush: Effect.Effect<void, never, Ports> = Effect.suspend(() => {
    if (isFlushing) return Effect.void
    isFlushing = true
    return Effect.gen(function* () {
      for (;;) {
        yield* sleepUntilElapsed(writtenAt, WRITE_EVERY)
        if (readyLedgers().length === 0) return
        if (!haveEnoughEnded()) yield* Effect.timeoutOption(untilEnoughEnded, LONGEST_WAIT)
        const ready = readyLedgers()
        writtenAt = yield* Clock.monotonicTimeNanos
        const together = ready.filter(({ failures }) => failures === 0)
        for (const ledger of ready) {
          if (ledger.failures > 0 || together.length === 1) run(writeAlone(ledger, take(ledger)))
        }
        if (together.length > 1) yield* writeTogether(together)
      }
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          isFlushing = false
        })
      )
    )
  })

  /** Notes that an attempt begins. Run exactly one of the two returned effects: `ended` with its result, or `abandoned`. */
  return ({ delivery, endpoint, revision }: LeasedDelivery) => {
    const known = { endpoint, revision }
    const fresh: Ledger = { known, open: 0, ended: [], isWriting: false, failures: 0 }
    const ledger = ledgers.get(endpoint.id) ?? fresh
    ledgers.set(endpoint.id, ledger)
    ledger.open += 1
    openCount += 1
    if (revision > ledger.known.revision) ledger.known = known
    return {
      ended: (result: AttemptResult) =>
        Effect.map(Clock.monotonicTimeNanos, (now) => {
          const { at = 0n, expiresAt = 0n } = delivery.open ?? {}
          ledger.ended.push({ attempt: { delivery, result }, until: now + expiresAt - at })
          endedCount += 1
          if (!isFlushing) run(flush)
          else if (haveEnoughEnded()) enough?.()
        }),
      abandoned: Effect.sync(() => settle(ledger, 1))
    }
  }
}
