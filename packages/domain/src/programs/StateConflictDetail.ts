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

/** What the resources are called, by prefix of their identifier. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["mnd_", "mandate"],
  ["aut_", "authorization"],
  ["whe_", "webhook endpoint"],
  ["dlv_", "delivery"]
])

/** Characters of the prefix of an identifier (part 1). */
const PREFIX_LENGTH = 4

const nameOf = (resourceId: string): string => NAMES.get(resourceId.slice(0, PREFIX_LENGTH)) ?? "resource"

const oneOf = (states: ReadonlyArray<string>): string =>
  [states.slice(0, -1).join(", "), ...states.slice(-1)].filter((part) => part !== "").join(" or ")

/**
 * The `detail` of a `state_conflict` (part 2): the resource, its state, and the states that the operation needs or, of a webhook
 * endpoint or a delivery, the remedy.
 */
export const stateConflictDetail = ({
  currentState,
  needed,
  resourceId
}: {
  readonly currentState: string
  readonly needed: ReadonlyArray<string>
  readonly resourceId: string
}): string => {
  const known = DETAILS.get(resourceId.slice(0, PREFIX_LENGTH))?.get(currentState)
  if (known !== undefined) return known
  // Only a revocation is possible in one of several states, and only one with another reason is refused afterwards.
  const why = currentState === "REVOKED" && needed.length > 1 ? " already, for another reason" : ""
  return `The ${nameOf(resourceId)} is ${currentState}${why}. The operation needs one that is ${oneOf(needed)}.`
}

/** The `detail` of a `terminal_state_conflict` (part 2): the state on record, which the report contradicts. */
export const terminalStateConflictDetail = (currentState: string): string =>
  `The authorization is ${currentState}, which is final, and this report says otherwise.`
