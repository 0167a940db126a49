import { randomUUID } from "node:crypto"

/** The header with the request id in every response (part 1). It is not taken from requests. */
export const REQUEST_ID_HEADER = "x-request-id"

/** A random request id. */
export const makeRequestId = (): string => randomUUID()
