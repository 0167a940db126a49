import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { KEPT_DELIVERIES, KEPT_SECONDS, type WebhookEndpointState } from "./WebhookEndpoint.ts"

/** What is still kept for a disabled endpoint (part 8): deliveries of events before `until`, at most `left` more. */
export interface KeptDeliveries {
  readonly until: Instant
  readonly left: number
}

type EndpointStatus = Pick<WebhookEndpointState, "status" | "disabledAt">

/** What is kept for an endpoint that is disabled just now; `undefined` for any other. */
export const keptDeliveriesOf = ({ disabledAt, status }: EndpointStatus): KeptDeliveries | undefined =>
  status === "disabled" && disabledAt !== undefined
    ? { until: disabledAt + KEPT_SECONDS * NANOS_PER_SECOND, left: KEPT_DELIVERIES }
    : undefined

/** What is kept after a change of the endpoint. While it stays disabled, earlier deliveries still count against the limit. */
export const keptDeliveriesAfter = (
  before: KeptDeliveries | undefined,
  next: EndpointStatus
): KeptDeliveries | undefined => {
  const fresh = keptDeliveriesOf(next)
  return fresh === undefined || before === undefined ? fresh : { ...fresh, left: before.left }
}

/** Whether one more delivery is kept. */
export const isKept = ({ left, until }: KeptDeliveries, now: Instant): boolean => left > 0 && now < until
