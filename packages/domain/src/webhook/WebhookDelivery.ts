import type { JournalEventType } from "@svc/protocol/Journal"
import { type Instant, NANOS_PER_MILLISECOND, type Nanos } from "@svc/protocol/Timestamp"
import { TEST_EVENT_TYPE } from "@svc/protocol/webhook/WebhookBody"
import { MAX_ATTEMPTS, retryDelay } from "./DeliverySchedule.ts"
import { afterAttempt, type WebhookEndpointState, type WebhookEndpointStatus } from "./WebhookEndpoint.ts"

/** A delivery with its body, the same text for every delivery of an event. */
export interface StoredDelivery {
  readonly delivery: WebhookDeliveryState
  readonly body: string
}

/** The result of one attempt: the status of the response, or why there is none. */
export interface AttemptResult {
  readonly status?: number
  readonly error?: AttemptError
  /** From name resolution to the end of the response headers or the failure, in whole milliseconds. */
  readonly durationMs: number
}

/**
 * Why an attempt has no status, in classes that reveal nothing of the operator's network (part 8). `worker_lost` is for
 * an attempt whose worker never reported a result, and `secret_unavailable` for one that could not be signed; a transport
 * returns neither.
 */
export type AttemptError =
  | "target_refused"
  | "connection_failed"
  | "tls_failed"
  | "timeout"
  | "response_invalid"
  | "secret_unavailable"
  | "worker_lost"

/** An attempt that has ended. */
export interface DeliveryAttempt {
  /** When it began. */
  readonly at: Instant
  /** Status of the response; absent when there was none. */
  readonly status?: number
  readonly durationMs: number
  readonly error?: AttemptError
}

/** An attempt that a worker is making. */
export interface OpenAttempt {
  /** Names the worker's lease, and fences its result. */
  readonly token: string
  readonly at: Instant
  /** When the worker starts to count as lost. */
  readonly expiresAt: Instant
  /** That of the endpoint when the attempt began. */
  readonly generation: number
}

/** A delivery of one event to one endpoint, as stored (part 8). Its body is kept beside it, as bytes. */
export interface WebhookDeliveryState {
  readonly id: string
  readonly organizationId: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventType: JournalEventType | typeof TEST_EVENT_TYPE
  readonly createdAt: Instant
  readonly state: "pending" | "delivered" | "exhausted"
  /** When the next attempt is due, while it is pending. */
  readonly nextAttemptAt?: Instant
  readonly attempts: ReadonlyArray<DeliveryAttempt>
  /** At most one is under way. */
  readonly open?: OpenAttempt
}

/** A delivery before its first attempt, which is due at once. */
export const pendingDelivery = (
  delivery: Pick<WebhookDeliveryState, "id" | "organizationId" | "endpointId" | "eventId" | "eventType">,
  now: Instant
): WebhookDeliveryState => ({
  ...delivery,
  createdAt: now,
  state: "pending",
  nextAttemptAt: now,
  attempts: []
})

/** A delivery's state as shown: a pending one is `frozen` while its endpoint is disabled, `cancelled` once it is deleted (part 8). */
export type ShownDeliveryState = "pending" | "delivered" | "exhausted" | "frozen" | "cancelled"

const WAITING: Readonly<Record<WebhookEndpointStatus, ShownDeliveryState>> = {
  active: "pending",
  disabled: "frozen",
  deleted: "cancelled"
}

export const shownDeliveryState = (
  delivery: Pick<WebhookDeliveryState, "state">,
  endpoint: Pick<WebhookEndpointState, "status">
): ShownDeliveryState => (delivery.state === "pending" ? WAITING[endpoint.status] : delivery.state)

const isTest = ({ eventType }: Pick<WebhookDeliveryState, "eventType">): boolean =>
  eventType === TEST_EVENT_TYPE

/** Attempts that a delivery has in all: a test is tried once. */
const attemptsOf = (delivery: WebhookDeliveryState): number => (isTest(delivery) ? 1 : MAX_ATTEMPTS)

/** Whether an attempt may begin: it is due, none is under way, and the endpoint is active. */
export const isDue = (
  delivery: WebhookDeliveryState,
  endpoint: Pick<WebhookEndpointState, "status">,
  now: Instant
): boolean =>
  delivery.state === "pending" &&
  delivery.open === undefined &&
  endpoint.status === "active" &&
  (delivery.nextAttemptAt ?? now) <= now

/** Begins the attempt that is due. */
export const beginAttempt = (
  delivery: WebhookDeliveryState,
  endpoint: Pick<WebhookEndpointState, "generation">,
  lease: { readonly token: string; readonly now: Instant; readonly lasts: Nanos }
): WebhookDeliveryState => ({
  ...delivery,
  open: {
    token: lease.token,
    at: lease.now,
    expiresAt: lease.now + lease.lasts,
    generation: endpoint.generation
  }
})

/** Whether the lease of an open attempt has run out, so that its worker counts as lost. */
export const isWorkerLost = ({ open }: Pick<WebhookDeliveryState, "open">, now: Instant): boolean =>
  open !== undefined && open.expiresAt <= now

/** Any 2xx, and nothing else, says that an event has arrived (part 8). */
export const isSuccess = (status: number | undefined): boolean =>
  status !== undefined && status >= 200 && status <= 299

const withAttempt = (
  delivery: WebhookDeliveryState,
  attempt: DeliveryAttempt,
  now: Instant,
  uniform: number
): WebhookDeliveryState => {
  const { nextAttemptAt: _next, open: _open, ...rest } = delivery
  const attempts = [...delivery.attempts, attempt]
  if (isSuccess(attempt.status)) return { ...rest, attempts, state: "delivered" }
  if (attempts.length >= attemptsOf(delivery)) return { ...rest, attempts, state: "exhausted" }
  return { ...rest, attempts, nextAttemptAt: now + retryDelay(attempts.length, uniform) }
}

/** An endpoint and one of its deliveries: the end of an attempt changes both. */
export interface EndpointAndDelivery {
  readonly endpoint: WebhookEndpointState
  readonly delivery: WebhookDeliveryState
}

/**
 * Ends the open attempt with its result (part 8): the delivery is delivered, waits for its next attempt, or is exhausted
 * after the ninth, and the endpoint's counters move once. It counts even if the endpoint was disabled or deleted meanwhile.
 * `undefined` for a result under another token: that attempt was taken for lost.
 */
export const finishAttempt = (
  { delivery, endpoint }: EndpointAndDelivery,
  finished: {
    readonly token: string
    readonly result: Omit<DeliveryAttempt, "at">
    readonly now: Instant
    /** Drawn evenly from 0 (inclusive) to 1 (exclusive), for the jitter. */
    readonly uniform: number
  }
): EndpointAndDelivery | undefined => {
  const { open } = delivery
  if (open === undefined || open.token !== finished.token) return undefined
  const { now, result, uniform } = finished
  const next = withAttempt(delivery, { at: open.at, ...result }, now, uniform)
  const counted = {
    generation: open.generation,
    isDelivered: next.state === "delivered",
    isJournalEvent: !isTest(delivery),
    isLast: next.state === "exhausted"
  }
  return { delivery: next, endpoint: afterAttempt(endpoint, counted, now) }
}

/**
 * Ends an open attempt whose worker is lost (part 8). It counts as one of the delivery's attempts, since the endpoint may
 * have received it, and moves no counter. `undefined` while the lease lasts.
 */
export const loseAttempt = (
  delivery: WebhookDeliveryState,
  now: Instant,
  uniform: number
): WebhookDeliveryState | undefined => {
  const { open } = delivery
  if (open === undefined || !isWorkerLost(delivery, now)) return undefined
  const durationMs = Number((now - open.at) / NANOS_PER_MILLISECOND)
  return withAttempt(delivery, { at: open.at, durationMs, error: "worker_lost" }, now, uniform)
}

/** Time over which due deliveries are spread when an endpoint is active again, in seconds (part 8). */
export const REACTIVATION_SPREAD_SECONDS = 60n

/** How deliveries are spread that are due at `now`: over the next `over`. */
export interface Spread {
  readonly now: Instant
  readonly over: Nanos
}

/**
 * The deliveries of an endpoint whose next attempt moves when it is active again: those that are due are spread evenly, the
 * longest due first, so that they do not all come at once. Their count of attempts continues.
 */
export const afterReactivation = (
  deliveries: ReadonlyArray<WebhookDeliveryState>,
  { now, over }: Spread
): ReadonlyArray<WebhookDeliveryState> => {
  const due = deliveries
    .flatMap((delivery) => {
      const { nextAttemptAt = now, open, state } = delivery
      return state === "pending" && open === undefined && nextAttemptAt <= now
        ? [{ delivery, nextAttemptAt }]
        : []
    })
    .sort(
      (one, other) =>
        Number(one.nextAttemptAt - other.nextAttemptAt) || (one.delivery.id < other.delivery.id ? -1 : 1)
    )
  return due.map(({ delivery }, place) => ({
    ...delivery,
    nextAttemptAt: now + (over * BigInt(place)) / BigInt(due.length)
  }))
}

/** Whether a delivery may be sent again as a new one (part 8): it must have ended. */
export const mayRedeliver = ({ state }: Pick<WebhookDeliveryState, "state">): boolean => state !== "pending"
