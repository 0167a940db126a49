/** The ports of a store, by which the contract is divided. */
export const PORT_NAMES = [
  "MandateStore",
  "SubjectStore",
  "DueLeases",
  "EventFeed",
  "WebhookStore",
  "Organizations",
  "StoreCleaning",
  "StoreHealth"
] as const
/** The name of a port of a store. */
export type PortName = (typeof PORT_NAMES)[number]
