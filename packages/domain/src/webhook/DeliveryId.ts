/** What the identifiers of all deliveries of an event begin with: it carries the event's time and 50 of its random bits. */
export const deliveryStemOf = (eventId: string): string => `dlv_${eventId.slice(4, 14)}${eventId.slice(-10)}`

/** What the identifiers of all deliveries of events to an endpoint end with. */
export const deliverySuffixOf = (endpointId: string): string => endpointId.slice(-6)

/**
 * The identifier of the delivery of an event to an endpoint: the same on every store, and sorted as the events are. A test
 * delivery or a redelivery gets a new identifier instead.
 */
export const deliveryIdOf = (eventId: string, endpointId: string): string =>
  deliveryStemOf(eventId) + deliverySuffixOf(endpointId)
