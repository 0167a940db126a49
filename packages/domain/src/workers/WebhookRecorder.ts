import { type Instant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Clock, Effect, Exit } from "effect"
import type { Randomness } from "../ports/Randomness.ts"
import type { LeasedDelivery, WebhookStore } from "../ports/WebhookStore.ts"
import type { AttemptResult } from "../webhook/WebhookDelivery.ts"
import type { StoredEndpoint } from "../webhook/WebhookEndpoint.ts"
import { type EndedAttempt, recordEnds, recordEndsTogether } from "./WebhookAttempts.ts"
import { pauseAfterFailures, sleepUntilElapsed } from "./WorkerPause.ts"

/** Least time from one write to the next, in nanoseconds: what ends meanwhile goes into one. */
const WRITE_EVERY = 5n * NANOS_PER_MILLISECOND

type KnownEnd = EndedAttempt & { readonly result: AttemptResult }

/** The end of an attempt, and when its lease has certainly run out, on this process's monotonic clock. */
interface UnrecordedEnd {
  readonly attempt: KnownEnd
  readonly until: bigint
}

/** What a worker knows of one endpoint while attempts of it are under way or not recorded. */
interface Ledger {
  known: StoredEndpoint
  /** Attempts that were begun and are not settled. */
  open: number
  ended: Array<UnrecordedEnd>
  isWriting: boolean
  /** Writes that failed, one after the other. */
  failures: number
}

/** When an attempt was over, by the clock of the store that opened it. */
const endOf = ({ delivery, result }: KnownEnd): Instant =>
  (delivery.open?.at ?? 0n) + BigInt(Math.ceil(result.durationMs)) * NANOS_PER_MILLISECOND

/** The last of them: an end that waited for the store is not recorded as of before one that came after it. */
const lastEnd = (ended: ReadonlyArray<KnownEnd>): Instant => {
  let last = 0n
  for (const end of ended.map(endOf)) if (end > last) last = end
  return last
}

type Ports = WebhookStore | Randomness

/** What a recorder works with: where its writes run, and whom it tells how many attempts are settled. */
interface RecorderOptions {
  readonly run: (write: Effect.Effect<void, never, Ports>) => void
  readonly settled: (count: number) => void
}

/**
 * Records the ends of attempts, those of all endpoints that come within `WRITE_EVERY` in one write. An endpoint that
 * somebody else is changing meanwhile, or whose write fails, is written alone, so that it holds up no other. A write that
 * fails is tried again until the leases have run out, when the attempts are used up as `worker_lost`; what the store
 * recorded although its answer was lost is not open any more, and is not counted twice.
 */
export const makeRecorder = ({ run, settled }: RecorderOptions) => {
  const ledgers = new Map<string, Ledger>()
  let isFlushing = false
  let writtenAt = 0n

  const settle = (ledger: Ledger, count: number): void => {
    ledger.open -= count
    if (ledger.open === 0) ledgers.delete(ledger.known.endpoint.id)
    settled(count)
  }

  const take = (ledger: Ledger): ReadonlyArray<UnrecordedEnd> => {
    const taken = ledger.ended
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

  /** Writes what there is, until there is nothing that may be written now. */
  const flush: Effect.Effect<void, never, Ports> = Effect.suspend(() => {
    if (isFlushing) return Effect.void
    isFlushing = true
    return Effect.gen(function* () {
      for (;;) {
        yield* sleepUntilElapsed(writtenAt, WRITE_EVERY)
        const ready = [...ledgers.values()].filter(({ ended, isWriting }) => ended.length > 0 && !isWriting)
        if (ready.length === 0) return
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

  /** Notes that an attempt begins; what is answered says, once, how it ended, or that nobody will know. */
  return ({ delivery, endpoint, revision }: LeasedDelivery) => {
    const known = { endpoint, revision }
    const fresh: Ledger = { known, open: 0, ended: [], isWriting: false, failures: 0 }
    const ledger = ledgers.get(endpoint.id) ?? fresh
    ledgers.set(endpoint.id, ledger)
    ledger.open += 1
    if (revision > ledger.known.revision) ledger.known = known
    return {
      ended: Effect.fnUntraced(function* (result: AttemptResult) {
        const { at = 0n, expiresAt = 0n } = delivery.open ?? {}
        const until = (yield* Clock.monotonicTimeNanos) + expiresAt - at
        ledger.ended.push({ attempt: { delivery, result }, until })
        if (!isFlushing) run(flush)
      }),
      abandoned: Effect.sync(() => settle(ledger, 1))
    }
  }
}
