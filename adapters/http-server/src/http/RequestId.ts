import { randomUUID } from "node:crypto"

/** The header with the request id in every response (part 1). It is not taken from requests. */
export const REQUEST_ID_HEADER = "x-request-id"

/** A random request id. */
export const makeRequestId = (): string => randomUUID()

const assigned = new WeakMap<object, string>()

/** The id of a message, the same for whoever asks: the routes, and what refuses a message that breaks off meanwhile. */
export const requestIdOf = (message: object): string => {
  const id = assigned.get(message) ?? makeRequestId()
  assigned.set(message, id)
  return id
}
