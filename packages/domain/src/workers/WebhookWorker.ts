import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { webhookHeaders } from "@svc/protocol/webhook/WebhookHeaders"
import { Clock, Context, Effect, type Exit, FiberSet, Redacted } from "effect"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { Randomness } from "../ports/Randomness.ts"
import { SecretSealer, webhookSecretContext } from "../ports/SecretSealer.ts"
import { type LeasedDelivery, WebhookStore } from "../ports/WebhookStore.ts"
import { WebhookTransport } from "../ports/WebhookTransport.ts"
import type { AttemptResult } from "../webhook/WebhookDelivery.ts"
import { MAX_WEBHOOK_ENDPOINTS } from "../webhook/WebhookEndpoint.ts"
import { makePace } from "./EndpointPace.ts"
import { EXPIRED_BATCH, recordLostAttempts } from "./WebhookAttempts.ts"
import { makeRecorder } from "./WebhookRecorder.ts"
import {
  IDLE_PAUSE_MILLISECONDS,
  pauseAfterFailures,
  pauseWhileIdle,
  sleepUntilElapsed
} from "./WorkerPause.ts"

/** Attempts that one worker has under way at most, over all endpoints, unless `WebhookCapacity` says otherwise. */
export const ATTEMPTS_AT_ONCE = 1024
/** Fewest attempts that a worker can be held to, so that each endpoint of an organization still has its share. */
const MIN_ATTEMPTS_AT_ONCE = 32
/**
 * Most attempts of one endpoint under way, over all workers, so that an endpoint holds up only itself; one that responds
 * quickly may have up to `QUICK_ATTEMPTS_PER_ENDPOINT`.
 */
export const ATTEMPTS_PER_ENDPOINT = 32
/**
 * A worker begins attempts of one organization up to this fraction of its free capacity, shared equally among as many
 * endpoints as an organization may have. The busier the worker, the smaller the share, so that endpoints that never
 * respond cannot use up its last capacity.
 */
const ORGANIZATION_SHARE_DIVISOR = 4
/** Part of an organization's share that an endpoint which responds quickly may have. */
const QUICK_SHARE = 3 / 4
/**
 * Attempts that every endpoint may have under way however busy its organization is; fewer as the worker fills up. So an
 * endpoint that responds does not wait for others of its own organization either.
 */
const ASSURED_PER_ENDPOINT = 4
const ASSURED_SHARE_DIVISOR = ATTEMPTS_AT_ONCE / ASSURED_PER_ENDPOINT
/** Deliveries that are leased at a time. */
const LEASE_BATCH = 128
/**
 * Leased attempts that are begun in one turn of the event loop. All at once, they would also end at once, and this process
 * would wait for the database in between; while many are under way their sockets and buffers outlive garbage collections.
 */
const BEGUN_AT_ONCE = 16
/** Leased attempts that have not begun, at which more are leased. */
const LEASED_AHEAD = 64
/**
 * How long a lease lasts, in seconds: longer than an attempt may take (15 s) and its result takes to be recorded, so that
 * a slow worker is not taken for lost.
 */
const LEASE_SECONDS = 60n
/** Least time between two rounds of leasing, in nanoseconds: what falls due in between is leased together. */
const LEASE_EVERY = 5n * NANOS_PER_MILLISECOND
/**
 * Rounds in a row that find nothing while nothing is under way, after each of which that time doubles: most hints are of
 * organizations without an endpoint, and each round costs the database as much as an append.
 */
const MAX_DOUBLINGS = 3
/** Interval between searches for attempts of lost workers, in nanoseconds; none follows a search that found a full batch. */
const LOST_EVERY = 10n * NANOS_PER_SECOND
/** Longest that a stopping worker waits for attempts under way; the rest count as lost. */
export const DRAIN_TIMEOUT = "9 seconds"

const TOKEN_BYTES = 16

/** Attempts that one worker has under way at most, over all endpoints. */
export class WebhookCapacity extends Context.Reference<number>("@svc/domain/workers/WebhookCapacity", {
  defaultValue: () => ATTEMPTS_AT_ONCE
}) {}

/** Whether a worker can be held to so many attempts under way: a whole number of 32 to `ATTEMPTS_AT_ONCE`. */
export const isWebhookCapacity = (attempts: number): boolean =>
  Number.isInteger(attempts) && attempts >= MIN_ATTEMPTS_AT_ONCE && attempts <= ATTEMPTS_AT_ONCE

/**
 * Hints that something is due sooner than a worker would look by itself. Optional: a hint that never comes only costs
 * time. One that comes while a worker is looking makes it look again.
 */
export class WebhookWakeUp extends Context.Reference<WakeUp>("@svc/domain/workers/WebhookWakeUp", {
  defaultValue: () => makeWakeUp()
}) {}

/**
 * Told of each attempt that ended before anything was sent, which no transport sees. Optional, for measurement.
 */
export class UnsentAttempts extends Context.Reference<(result: AttemptResult) => void>(
  "@svc/domain/workers/UnsentAttempts",
  { defaultValue: () => () => {} }
) {}

interface WakeUp {
  readonly notify: () => void
  /** How many hints there were so far. */
  readonly count: () => number
  /** Completes once there have been more than `count` hints. */
  readonly beyond: (count: number) => Effect.Effect<void>
}

/** Hints for those who share them, apart from any others. */
export const makeWakeUp = (): WakeUp => {
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

type Ports = WebhookStore | WebhookTransport | SecretSealer | Randomness

const encoder = new TextEncoder()

/** The result of an attempt whose signing secret does not open. */
const UNSIGNED: AttemptResult = { error: "secret_unavailable", durationMs: 0 }

const make = Effect.gen(function* () {
  const store = yield* WebhookStore
  const transport = yield* WebhookTransport
  const randomness = yield* Randomness
  const sealer = yield* SecretSealer
  const wakeUp = yield* WebhookWakeUp
  const capacity = yield* WebhookCapacity
  const countUnsent = yield* UnsentAttempts
  const fibers = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(fibers)<Ports>()
  let underWay = 0
  /** How many of these have not begun. */
  let waiting = 0
  /** Whether the last round was full, so that more may be due. */
  let mayHaveMore = false
  const pace = makePace()
  const begin = makeRecorder({
    run,
    settled: (count) => {
      underWay -= count
      wakeUp.notify()
    }
  })

  /** Endpoints whose secret did not open when it was last tried, by their identifier. */
  const closed = new Set<string>()

  /** Said once per endpoint: what is to be done is the same for each attempt. */
  const sayClosed = ({ id, organizationId }: LeasedDelivery["endpoint"]): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (closed.has(id)) return Effect.void
      closed.add(id)
      return Effect.annotateLogs(
        Effect.logWarning(
          `the master key does not open the secret of ${id}, so nothing is sent to it; have its owner rotate it`
        ),
        { organization_id: organizationId, webhook_endpoint_id: id }
      )
    })

  /** The secret of an endpoint; absent if the master key does not open it. */
  const secretOf = ({ endpoint }: LeasedDelivery): Effect.Effect<Redacted.Redacted<string> | undefined> =>
    sealer.open(webhookSecretContext(endpoint, endpoint.secretVersion), endpoint.sealedSecret).pipe(
      Effect.tap(() => Effect.sync(() => closed.delete(endpoint.id))),
      Effect.catchTag("SealBroken", () => Effect.as(sayClosed(endpoint), undefined))
    )

  /** One attempt, signed afresh with the secret that the endpoint had when it was leased (part 8). */
  const attempt = (
    { body: text, delivery, endpoint }: LeasedDelivery,
    secret: Redacted.Redacted<string> | undefined
  ): Effect.Effect<AttemptResult> =>
    Effect.suspend(() => {
      if (secret === undefined) {
        countUnsent(UNSIGNED)
        return Effect.succeed(UNSIGNED)
      }
      const body = encoder.encode(text)
      return transport.deliver({
        url: endpoint.url,
        headers: webhookHeaders({
          secret: Redacted.value(secret),
          timestamp: Number((delivery.open?.at ?? 0n) / NANOS_PER_SECOND),
          body
        }),
        body
      })
    })

  const deliver = (leased: LeasedDelivery, secret: Exit.Exit<Redacted.Redacted<string> | undefined>) => {
    const { delivery, endpoint } = leased
    const { abandoned, ended } = begin(leased)
    return Effect.flatMap(secret, (opened) => attempt(leased, opened)).pipe(
      Effect.flatMap((result) => {
        pace.ended(endpoint.id, result)
        const { error = null, status = null } = result
        return Effect.andThen(Effect.logDebug("webhook attempt", { status, error }), ended(result))
      }),
      // The lease expires, the attempt is recorded as `worker_lost`, and the next one follows.
      Effect.catchCause((cause) =>
        Effect.andThen(abandoned, Effect.logWarning("the end of a webhook attempt is not recorded", cause))
      ),
      Effect.annotateLogs({
        organization_id: endpoint.organizationId,
        webhook_endpoint_id: endpoint.id,
        delivery_id: delivery.id,
        event_id: delivery.eventId
      })
    )
  }

  /** Begins leased attempts, some in each turn of the event loop. */
  const beginInTurns = Effect.fnUntraced(function* (
    attempts: ReadonlyArray<Effect.Effect<void, never, Ports>>
  ) {
    for (const [at, each] of attempts.entries()) {
      if (at > 0 && at % BEGUN_AT_ONCE === 0) yield* Effect.yieldNow
      waiting -= 1
      if (mayHaveMore && waiting === LEASED_AHEAD) wakeUp.notify()
      run(each)
    }
  })

  /** Leases what is due, as far as there is capacity, and begins it. Returns the number of attempts. */
  const round: Effect.Effect<number, StoreUnavailable> = Effect.gen(function* () {
    const room = capacity - underWay
    const limit = Math.min(LEASE_BATCH, room)
    mayHaveMore = false
    if (limit === 0) return 0
    const perOrganization = Math.ceil(room / ORGANIZATION_SHARE_DIVISOR)
    const perEndpoint = Math.min(ATTEMPTS_PER_ENDPOINT, Math.ceil(perOrganization / MAX_WEBHOOK_ENDPOINTS))
    const leased = yield* store.leaseDue({
      token: encodeBase64Url(randomness.bytes(TOKEN_BYTES)),
      limit,
      perOrganization,
      assured: Math.ceil(room / ASSURED_SHARE_DIVISOR),
      perEndpoint,
      bounds: pace.bounds(perEndpoint, Math.ceil(perOrganization * QUICK_SHARE)),
      lasts: LEASE_SECONDS * NANOS_PER_SECOND
    })
    const secrets = new Map<string, Exit.Exit<Redacted.Redacted<string> | undefined>>()
    const attempts: Array<Effect.Effect<void, never, Ports>> = []
    for (const each of leased) {
      const { endpoint } = each
      const secret = secrets.get(endpoint.id) ?? (yield* Effect.exit(secretOf(each)))
      secrets.set(endpoint.id, secret)
      attempts.push(deliver(each, secret))
    }
    underWay += attempts.length
    waiting += attempts.length
    mayHaveMore = leased.length === limit
    run(beginInTurns(attempts))
    return leased.length
  })

  let failures = 0
  let lostAt = 0n
  let mayHaveLost = false
  let leasedAt = 0n
  let doublings = 0
  const turn = Effect.gen(function* () {
    const now = yield* Clock.monotonicTimeNanos
    if (mayHaveLost || now - lostAt >= LOST_EVERY) {
      lostAt = now
      mayHaveLost = (yield* recordLostAttempts) === EXPIRED_BATCH
    }
    yield* sleepUntilElapsed(leasedAt, LEASE_EVERY * 2n ** BigInt(doublings))
    leasedAt = yield* Clock.monotonicTimeNanos
    const hints = wakeUp.count()
    // Uninterruptible, because an abandoned lease uses up an attempt.
    const begun = yield* Effect.uninterruptible(round)
    failures = 0
    doublings = begun > 0 || underWay > 0 ? 0 : Math.min(doublings + 1, MAX_DOUBLINGS)
    const isNextAtOnce = mayHaveLost || (mayHaveMore && waiting <= LEASED_AHEAD)
    if (!isNextAtOnce) yield* Effect.race(pauseWhileIdle(IDLE_PAUSE_MILLISECONDS), wakeUp.beyond(hints))
  }).pipe(
    Effect.catchCause((cause) => {
      failures += 1
      return Effect.andThen(
        Effect.logWarning("webhook deliveries cannot be looked for; trying again", cause),
        Effect.sleep(pauseAfterFailures(failures))
      )
    })
  )
  return { turn, round, drained: FiberSet.awaitEmpty(fibers) }
})

/**
 * Attempts every delivery that is due, and those that fall due meanwhile, until none is left: for a host that decides itself
 * when, such as a test that moves its clock. Returns the number of attempts.
 */
export const attemptDueDeliveries: Effect.Effect<number, StoreUnavailable, Ports> = Effect.scoped(
  Effect.gen(function* () {
    const { drained, round } = yield* make
    let attempts = 0
    for (;;) {
      const begun = yield* Effect.uninterruptible(round)
      if (begun === 0) return attempts
      attempts += begun
      yield* drained
    }
  })
)

/**
 * Delivers webhooks until it is interrupted (part 8). Any number of workers share one store. A slow or dead endpoint delays
 * its own deliveries only: each has a limit of attempts under way, and endpoints take turns. Interrupted, it leases nothing
 * more and waits for the attempts under way, at most `DRAIN_TIMEOUT`.
 */
export const webhookWorker: Effect.Effect<never, never, Ports> = Effect.scoped(
  Effect.gen(function* () {
    const { drained, turn } = yield* make
    return yield* Effect.forever(turn).pipe(
      Effect.onInterrupt(() => Effect.ignore(Effect.timeout(drained, DRAIN_TIMEOUT)))
    )
  })
)
