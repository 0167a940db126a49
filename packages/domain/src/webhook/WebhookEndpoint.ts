import type { JournalEventType } from "@svc/protocol/Journal"
import type { Instant } from "@svc/protocol/Timestamp"

/** Endpoints of an organization that are not deleted, at most (part 8). */
export const MAX_WEBHOOK_ENDPOINTS = 5
/** Failed attempts in a row at which an endpoint is disabled (part 8). */
export const MAX_FAILED_ATTEMPTS = 20
/** Exhausted deliveries in a row at which an endpoint is disabled (part 8). */
export const MAX_EXHAUSTED_DELIVERIES = 10

/** How long events are kept for a disabled endpoint, in seconds: 7 days (part 8). */
export const KEPT_SECONDS = 604_800n
/** How many deliveries are kept for an endpoint while it is disabled (part 8). */
export const KEPT_DELIVERIES = 10_000

/**
 * An endpoint, and the revision that a change of it must name. It begins with 1 and rises with each change, by one unless what
 * was recorded last was lost: no revision of a lost change is given again.
 */
export interface StoredEndpoint {
  readonly endpoint: WebhookEndpointState
  readonly revision: number
  /** When the first event came that was not kept for it any more, since it was disabled (part 8). */
  readonly missedSince?: Instant
}

export type WebhookEndpointStatus = "active" | "disabled" | "deleted"

/** Which of the two limits an endpoint has reached. */
export type DisabledReason = "consecutive_failed_attempts" | "consecutive_exhausted_deliveries"

/** An endpoint as stored (part 8). Its secret is sealed for its row and `secretVersion`. */
export interface WebhookEndpointState {
  readonly id: string
  readonly organizationId: string
  readonly url: string
  /** Absent: all of them. */
  readonly eventTypes?: ReadonlyArray<JournalEventType>
  readonly description?: string
  readonly status: WebhookEndpointStatus
  readonly disabledReason?: DisabledReason
  /** When it was disabled, while it is. */
  readonly disabledAt?: Instant
  readonly consecutiveFailedAttempts: number
  readonly consecutiveExhaustedDeliveries: number
  /** Number of reactivations: an attempt that began before a reactivation does not count after it. */
  readonly generation: number
  readonly secretVersion: number
  readonly sealedSecret: string
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** What an endpoint's counters depend on in the end of an attempt. */
export interface CountedAttempt {
  /** That of the endpoint when the attempt began. */
  readonly generation: number
  readonly isDelivered: boolean
  /** Whether the delivery is of an event of the journal, and not of a test. */
  readonly isJournalEvent: boolean
  /** Whether no attempt is left after this one. */
  readonly isLast: boolean
}

type Counters = Pick<WebhookEndpointState, "consecutiveFailedAttempts" | "consecutiveExhaustedDeliveries">

const countersAfter = (endpoint: Counters, attempt: CountedAttempt): Counters => {
  if (attempt.isDelivered) {
    return {
      consecutiveFailedAttempts: 0,
      consecutiveExhaustedDeliveries: attempt.isJournalEvent ? 0 : endpoint.consecutiveExhaustedDeliveries
    }
  }
  return {
    consecutiveFailedAttempts: endpoint.consecutiveFailedAttempts + 1,
    consecutiveExhaustedDeliveries:
      endpoint.consecutiveExhaustedDeliveries + (attempt.isLast && attempt.isJournalEvent ? 1 : 0)
  }
}

const reachedBy = (counters: Counters): DisabledReason | undefined => {
  if (counters.consecutiveFailedAttempts >= MAX_FAILED_ATTEMPTS) return "consecutive_failed_attempts"
  return counters.consecutiveExhaustedDeliveries >= MAX_EXHAUSTED_DELIVERIES
    ? "consecutive_exhausted_deliveries"
    : undefined
}

/**
 * The endpoint after an attempt (part 8): its counters, and whether 20 failed attempts or 10 exhausted deliveries in a row
 * disable it. Any 2xx resets the first counter, only a delivered journal event the second. Nothing changes when the attempt
 * began before a reactivation or the endpoint has been deleted. A disabled endpoint keeps counting and keeps its reason.
 */
export const afterAttempt = (
  endpoint: WebhookEndpointState,
  attempt: CountedAttempt,
  now: Instant
): WebhookEndpointState => {
  if (endpoint.status === "deleted" || attempt.generation !== endpoint.generation) return endpoint
  const counters = countersAfter(endpoint, attempt)
  const reason = endpoint.status === "active" ? reachedBy(counters) : undefined
  if (reason === undefined) {
    return counters.consecutiveFailedAttempts === endpoint.consecutiveFailedAttempts &&
      counters.consecutiveExhaustedDeliveries === endpoint.consecutiveExhaustedDeliveries
      ? endpoint
      : { ...endpoint, ...counters }
  }
  return {
    ...endpoint,
    ...counters,
    status: "disabled",
    disabledReason: reason,
    disabledAt: now,
    updatedAt: now
  }
}

/** Makes a disabled endpoint active, with counters of zero (part 8); any other stays as it is. */
export const reactivated = (endpoint: WebhookEndpointState, now: Instant): WebhookEndpointState => {
  if (endpoint.status !== "disabled") return endpoint
  const { disabledAt: _at, disabledReason: _reason, ...rest } = endpoint
  return {
    ...rest,
    status: "active",
    consecutiveFailedAttempts: 0,
    consecutiveExhaustedDeliveries: 0,
    generation: endpoint.generation + 1,
    updatedAt: now
  }
}

/** Gives an endpoint another secret, the only one that signs from then on (part 8). */
export const withSecret = (
  endpoint: WebhookEndpointState,
  sealedSecret: string,
  now: Instant
): WebhookEndpointState => ({
  ...endpoint,
  secretVersion: endpoint.secretVersion + 1,
  sealedSecret,
  updatedAt: now
})

/** Marks an endpoint as deleted: what waits for it is never sent (part 8). */
export const deleted = (endpoint: WebhookEndpointState, now: Instant): WebhookEndpointState =>
  endpoint.status === "deleted" ? endpoint : { ...endpoint, status: "deleted", updatedAt: now }

/** Whether an endpoint asked for events of a type. */
export const wants = (
  { eventTypes }: Pick<WebhookEndpointState, "eventTypes">,
  type: JournalEventType
): boolean => eventTypes === undefined || eventTypes.includes(type)
