import type { JournalEventType } from "../Journal.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"
import type { MandateStateName } from "../Mandate.ts"

/** What a webhook says about an event of the journal. */
export interface NotifiedEvent {
  /** Receivers deduplicate by it. */
  readonly id: string
  readonly type: JournalEventType
  /** RFC 3339 UTC with nine fraction digits, as in the journal. */
  readonly occurredAt: string
  readonly mandateId: string
  /** Only of an event that belongs to an authorization. */
  readonly authorizationId?: string
  /** The mandate's state after the event; only for `mandate.*` events. */
  readonly state?: MandateStateName
  /** The mandate's version at the event. */
  readonly version: number
}

/**
 * The body of every delivery of an event (part 8): canonical JSON, so the same event gives the same bytes wherever it is
 * built. It is a trigger, not proof: receivers read the resources that it names.
 */
export const webhookBody = (event: NotifiedEvent): string =>
  // Members in canonical order, with values that canonical JSON writes as any JSON: every event has one, delivered or not.
  JSON.stringify({
    data: {
      authorization_id: event.authorizationId,
      mandate_id: event.mandateId,
      state: event.state,
      version: event.version
    },
    id: event.id,
    occurred_at: event.occurredAt,
    type: event.type
  })

/** Type of the event that tests an endpoint; no journal holds one (part 8). */
export const TEST_EVENT_TYPE = "endpoint.test"

/** A well-formed identifier that no mandate has. */
const NO_MANDATE = `mnd_${"0".repeat(26)}`

/** The body of a test delivery (part 8). */
export const testWebhookBody = (event: { readonly id: string; readonly occurredAt: string }): string =>
  canonicalJson({
    id: event.id,
    type: TEST_EVENT_TYPE,
    occurred_at: event.occurredAt,
    data: { mandate_id: NO_MANDATE, version: 0 }
  })
