import type { EventType } from "./Event.ts"
import type { MandateState } from "./Mandate.ts"

/** Where webhooks go, and which events it is told of. */
export interface WebhookEndpointInput {
  /** An HTTPS address with a public host name. */
  readonly url: string
  /** Default: all of them, later ones too. */
  readonly event_types?: ReadonlyArray<EventType>
  readonly description?: string
}

/** Where events are sent, and how that goes. */
export interface WebhookEndpoint {
  readonly id: string
  readonly url: string
  readonly event_types: ReadonlyArray<EventType>
  readonly description?: string
  readonly status: "active" | "disabled" | "deleted"
  readonly disabled_reason?: "consecutive_failed_attempts" | "consecutive_exhausted_deliveries"
  /** Events from then on were not kept for this endpoint: read them from the feed. */
  readonly missed_since?: string
  readonly consecutive_failed_attempts: number
  readonly consecutive_exhausted_deliveries: number
  readonly created_at: string
  readonly updated_at: string
  /**
   * Shown once, by creation and by rotation. Absent from the answer to a request that was repeated because its first answer
   * was lost: rotate the secret then.
   */
  readonly secret?: string
}

/** One attempt to deliver a webhook. */
export interface WebhookAttempt {
  readonly at: string
  /** HTTP status of the answer; absent when there was none. */
  readonly status?: number
  readonly duration_ms: number
  readonly error?: string
}

/** One event on its way to one endpoint. */
export interface WebhookDelivery {
  readonly id: string
  readonly state: "pending" | "delivered" | "exhausted" | "frozen" | "cancelled"
  readonly event_id: string
  readonly event_type: string
  readonly next_attempt_at?: string
  readonly attempts: ReadonlyArray<WebhookAttempt>
}

/** The body of a webhook. A trigger, not a proof: read what it names. Deduplicate by `id`. */
export interface WebhookEvent {
  readonly id: string
  /** New types may be added: answer those that you do not know with a 2xx. */
  readonly type: EventType | "endpoint.test"
  readonly occurred_at: string
  readonly data: {
    readonly mandate_id: string
    /** Only of an event that belongs to an authorization. */
    readonly authorization_id?: string
    /** Only of `mandate.*` events. */
    readonly state?: MandateState
    readonly version: number
  }
}
