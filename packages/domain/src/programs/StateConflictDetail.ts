const ENDPOINT = {
  disabled:
    "The webhook endpoint is disabled. PUT /v1/webhook-endpoints/{webhook_endpoint_id}/reactivation makes it active again.",
  deleted:
    "The webhook endpoint is deleted, which is final. Register another with POST /v1/webhook-endpoints."
}

const DELIVERY = {
  pending: "The delivery has not ended: it is still being sent. Wait until it is delivered or exhausted.",
  frozen:
    "The delivery has not ended: it waits until its webhook endpoint, which is disabled, is active again. PUT /v1/webhook-endpoints/{webhook_endpoint_id}/reactivation makes it so.",
  cancelled:
    "The delivery is never sent, because its webhook endpoint is deleted. GET /v1/events has its event."
}

/** Details by prefix of the resource identifier and by state. */
const DETAILS: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ["whe_", new Map(Object.entries(ENDPOINT))],
  ["dlv_", new Map(Object.entries(DELIVERY))]
])

/** Characters of the prefix of an identifier (part 1). */
const PREFIX_LENGTH = 4

/**
 * The `detail` of a `state_conflict` about a webhook endpoint or a delivery: its state and the remedy (part 2). `undefined`
 * for other resources, whose detail is the general cause of the problem.
 */
export const stateConflictDetail = (resourceId: string, currentState: string): string | undefined =>
  DETAILS.get(resourceId.slice(0, PREFIX_LENGTH))?.get(currentState)
