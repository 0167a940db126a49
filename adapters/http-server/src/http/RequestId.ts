import { randomUUID } from "node:crypto"

/** The header that names a request in every response (part 1). An inbound one is ignored. */
export const REQUEST_ID_HEADER = "x-request-id"

/** A fresh request id: unguessable, and without meaning. */
export const makeRequestId = (): string => randomUUID()
