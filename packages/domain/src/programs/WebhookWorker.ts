import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { webhookHeaders } from "@svc/protocol/WebhookHeaders"
import { Clock, Context, Effect, Exit, FiberSet, Redacted } from "effect"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { Randomness } from "../ports/Randomness.ts"
import { type SealBroken, SecretSealer } from "../ports/SecretSealer.ts"
import { type ClaimedDelivery, type StoredEndpoint, WebhookStore } from "../ports/WebhookStore.ts"
import { type AttemptResult, WebhookTransport } from "../ports/WebhookTransport.ts"
import { type EndedAttempt, recordEnds, recordLostAttempts } from "./WebhookAttempts.ts"
import { webhookSealContext } from "./WebhookEndpoints.ts"
import { IDLE_PAUSE_MILLISECONDS, pauseAfterFailures } from "./WorkerPause.ts"

/** Attempts that one worker has under way at most, over all endpoints. */
export const ATTEMPTS_AT_ONCE = 256
/** Attempts of one endpoint that are under way at most, over all workers: it holds up nobody but itself. */
export const ATTEMPTS_PER_ENDPOINT = 16
/** Deliveries that are claimed at a time. */
const CLAIM_BATCH = 64
/**
 * How long a claim lasts, in seconds: longer than an attempt may take (15 s) with the record of its end, so that a slow
 * worker that lives is not taken for lost.
 */
const CLAIM_SECONDS = 60n
/** How often attempts of lost workers are looked for, in nanoseconds. */
const LOST_EVERY = 10n * NANOS_PER_SECOND
/** Longest that a worker which is stopped waits for attempts that are under way; after that they count as lost. */
export const DRAIN_TIMEOUT = "9 seconds"

const TOKEN_BYTES = 16

/**
 * Hints that something may be due sooner than a worker would look: nothing is wrong when one never comes. A hint that comes
 * while a worker looks is not lost on it.
 */
export class WebhookWakeUp extends Context.Reference<{
  readonly notify: () => void
  /** How many hints there were so far. */
  readonly count: () => number
  /** Settles once there are more than so many. */
  readonly beyond: (count: number) => Effect.Effect<void>
}>("@svc/domain/programs/WebhookWakeUp", {
  defaultValue: () => {
    let hints = 0
    const waiting = new Set<() => void>()
    return {
      notify: () => {
        hints += 1
        for (const wake of waiting) wake()
      },
      count: () => hints,
      beyond: (count) =>
        Effect.callback<void>((resume) => {
          const wake = () => {
            waiting.delete(wake)
            resume(Effect.void)
          }
          if (hints > count) return wake()
          waiting.add(wake)
          return Effect.sync(() => waiting.delete(wake))
        })
    }
  }
}) {}

type Ports = WebhookStore | WebhookTransport | SecretSealer | Randomness

/** One attempt, signed afresh with the secret that the endpoint had when it was claimed (part 8). */
const attempt = Effect.fnUntraced(function* (
  claimed: ClaimedDelivery
): Effect.fn.Return<AttemptResult, SealBroken, WebhookTransport | SecretSealer> {
  const { endpoint } = claimed
  const sealer = yield* SecretSealer
  const transport = yield* WebhookTransport
  const secret = yield* sealer.open(
    webhookSealContext(endpoint, endpoint.secretVersion),
    endpoint.sealedSecret
  )
  const body = new TextEncoder().encode(claimed.body)
  const at: Instant = claimed.delivery.open?.at ?? 0n
  return yield* transport.deliver({
    url: endpoint.url,
    headers: webhookHeaders({
      secret: Redacted.value(secret),
      timestamp: Number(at / NANOS_PER_SECOND),
      body
    }),
    body
  })
})

/** The end of an attempt, and when its claim has certainly run out, on this process's monotonic clock. */
interface UnrecordedEnd {
  readonly attempt: EndedAttempt
  readonly until: bigint
}

/** Ends of one endpoint's attempts that wait to be recorded together, while a write of it is under way. */
interface Ledger {
  known: StoredEndpoint
  ended: Array<UnrecordedEnd>
  isWriting: boolean
}

/** When an attempt was over, by the clock of the store that opened it. */
const endOf = ({ delivery, result }: EndedAttempt): Instant => {
  const duration = result === "lost" ? 0 : Math.ceil(result.durationMs)
  return (delivery.open?.at ?? 0n) + BigInt(duration) * NANOS_PER_MILLISECOND
}

/** The last of them: an end that waited for the store is not recorded as of before one that came after it. */
const lastEnd = (ended: ReadonlyArray<EndedAttempt>): Instant => {
  let last = 0n
  for (const end of ended.map(endOf)) if (end > last) last = end
  return last
}

/**
 * Records ends as they come: those of one endpoint that come during a write go into the next one together. A write that
 * fails is tried again until the claims have run out, when the attempts are used up as `worker_lost`; what the store
 * recorded although its answer was lost is not open any more, and is not counted twice.
 */
const makeRecorder = () => {
  const ledgers = new Map<string, Ledger>()
  const write = Effect.fnUntraced(function* (endpoint: string, ledger: Ledger) {
    let failures = 0
    while (ledger.ended.length > 0) {
      const taken = ledger.ended
      ledger.ended = []
      const ended = taken.map(({ attempt }) => attempt)
      const recorded = yield* Effect.exit(recordEnds(ledger.known, ended, lastEnd(ended)))
      if (Exit.isSuccess(recorded)) {
        ledger.known = recorded.value
        failures = 0
        continue
      }
      failures += 1
      const now = yield* Clock.monotonicTimeNanos
      const kept = taken.filter(({ until }) => now < until)
      ledger.ended = [...kept, ...ledger.ended]
      yield* Effect.logWarning("ends of webhook attempts are not recorded", recorded.cause).pipe(
        Effect.annotateLogs({ tried_again: kept.length, lost: taken.length - kept.length })
      )
      if (kept.length > 0) yield* Effect.sleep(pauseAfterFailures(failures))
    }
    ledgers.delete(endpoint)
  })
  return Effect.fnUntraced(function* (claimed: ClaimedDelivery, attempt: EndedAttempt) {
    const { endpoint, revision } = claimed
    const { at = 0n, expiresAt = 0n } = attempt.delivery.open ?? {}
    const until = (yield* Clock.monotonicTimeNanos) + expiresAt - at
    const ledger = ledgers.get(endpoint.id) ?? { known: claimed, ended: [], isWriting: false }
    ledgers.set(endpoint.id, ledger)
    if (revision > ledger.known.revision) ledger.known = { endpoint, revision }
    ledger.ended.push({ attempt, until })
    if (ledger.isWriting) return
    ledger.isWriting = true
    yield* write(endpoint.id, ledger)
  })
}

const make = Effect.gen(function* () {
  const store = yield* WebhookStore
  const randomness = yield* Randomness
  const wakeUp = yield* WebhookWakeUp
  const fibers = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(fibers)<Ports>()
  const record = makeRecorder()
  let underWay = 0

  const deliver = (claimed: ClaimedDelivery) => {
    const { delivery, endpoint } = claimed
    const about = {
      organization_id: endpoint.organizationId,
      webhook_endpoint_id: endpoint.id,
      delivery_id: delivery.id,
      event_id: delivery.eventId
    }
    return attempt(claimed).pipe(
      Effect.tap(({ error, status }) =>
        Effect.logDebug("webhook attempt", { status: status ?? null, error: error ?? null })
      ),
      Effect.flatMap((result) => record(claimed, { delivery, result })),
      // Nothing is lost: the claim runs out, the attempt is used up as `worker_lost`, and the next one comes.
      Effect.catchCause((cause) => Effect.logWarning("the end of a webhook attempt is not recorded", cause)),
      Effect.annotateLogs(about),
      Effect.ensuring(
        Effect.sync(() => {
          underWay -= 1
          wakeUp.notify()
        })
      )
    )
  }

  /** Claims what is due and there is room for; answers whether there may be more. */
  const round: Effect.Effect<boolean, StoreUnavailable> = Effect.gen(function* () {
    const limit = Math.min(CLAIM_BATCH, ATTEMPTS_AT_ONCE - underWay)
    if (limit === 0) return false
    const claimed = yield* store.claimDue({
      token: encodeBase64Url(randomness.bytes(TOKEN_BYTES)),
      limit,
      perEndpoint: ATTEMPTS_PER_ENDPOINT,
      lasts: CLAIM_SECONDS * NANOS_PER_SECOND
    })
    for (const each of claimed) {
      underWay += 1
      run(deliver(each))
    }
    return claimed.length === limit
  })

  let failures = 0
  let lostAt = 0n
  const turn = Effect.gen(function* () {
    const now = yield* Clock.monotonicTimeNanos
    if (now - lostAt >= LOST_EVERY) {
      lostAt = now
      yield* recordLostAttempts
    }
    const hints = wakeUp.count()
    // What is claimed is begun: a claim that nobody works on would be an attempt that is used up for nothing.
    const mayHaveMore = yield* Effect.uninterruptible(round)
    failures = 0
    if (!mayHaveMore) yield* Effect.race(Effect.sleep(IDLE_PAUSE_MILLISECONDS), wakeUp.beyond(hints))
  }).pipe(
    Effect.catchCause((cause) => {
      failures += 1
      return Effect.andThen(
        Effect.logWarning("webhook deliveries cannot be looked for; trying again", cause),
        Effect.sleep(pauseAfterFailures(failures))
      )
    })
  )
  return { turn, drained: FiberSet.awaitEmpty(fibers) }
})

/**
 * Delivers webhooks until it is interrupted, with any number of others at one store (part 8). A slow or dead endpoint holds
 * its own deliveries alone: each has a bound of attempts under way, and endpoints take turns. Interrupted, it claims nothing
 * more and waits for what is under way, no longer than `DRAIN_TIMEOUT`.
 */
export const webhookWorker: Effect.Effect<never, never, Ports> = Effect.scoped(
  Effect.gen(function* () {
    const { drained, turn } = yield* make
    return yield* Effect.forever(turn).pipe(
      Effect.onInterrupt(() => Effect.ignore(Effect.timeout(drained, DRAIN_TIMEOUT)))
    )
  })
)
