import { randomUUID } from "node:crypto"

/** The header with the request id in every response (part 1). It is not taken from requests. */
export const REQUEST_ID_HEADER = "x-request-id"

/** A random request id. */
export const makeRequestId = (): string => randomUUID()

/** Where a message holds its id: a weak map would cost several times as much as the id. */
const REQUEST_ID = Symbol("request id")

/** The ids of messages that take no further member, such as a frozen request of a host. */
const ofClosed = new WeakMap<object, string>()

/** The id of a message, the same for whoever asks: the routes, and what refuses a message that breaks off meanwhile. */
export const requestIdOf = (message: object): string => {
  const known = (message as { readonly [REQUEST_ID]?: string })[REQUEST_ID] ?? ofClosed.get(message)
  if (known !== undefined) return known
  const id = makeRequestId()
  if (!Reflect.set(message, REQUEST_ID, id)) ofClosed.set(message, id)
  return id
}
