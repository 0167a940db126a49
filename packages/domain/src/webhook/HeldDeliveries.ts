import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { HELD_DELIVERIES, HELD_SECONDS, type WebhookEndpointState } from "./WebhookEndpoint.ts"

/** What is still kept for a disabled endpoint (part 8): deliveries of events before `until`, as many as are `left`. */
export interface Holding {
  readonly until: Instant
  readonly left: number
}

type Holder = Pick<WebhookEndpointState, "status" | "disabledAt">

/** What is kept for an endpoint that is disabled just now; nothing is held back for one that is not. */
export const holdingOf = ({ disabledAt, status }: Holder): Holding | undefined =>
  status === "disabled" && disabledAt !== undefined
    ? { until: disabledAt + HELD_SECONDS * NANOS_PER_SECOND, left: HELD_DELIVERIES }
    : undefined

/** What is kept after a change of the endpoint: while it stays disabled, what was made since it was counts. */
export const holdingAfter = (before: Holding | undefined, next: Holder): Holding | undefined => {
  const fresh = holdingOf(next)
  return fresh === undefined || before === undefined ? fresh : { ...fresh, left: before.left }
}

/** Whether one more delivery is kept. */
export const isKept = ({ left, until }: Holding, now: Instant): boolean => left > 0 && now < until
