import { randomUUID } from "node:crypto"

/** The header with the request id in every response (part 1). It is not taken from requests. */
export const REQUEST_ID_HEADER = "x-request-id"

/** A random request id. */
export const makeRequestId = (): string => randomUUID()

/** Where a message holds its id: a weak map would cost several times as much as the id. */
const REQUEST_ID = Symbol("request id")

/** The id of a message, the same for whoever asks: the routes, and what refuses a message that breaks off meanwhile. */
export const requestIdOf = (message: object): string => {
  const identified: { [REQUEST_ID]?: string } = message
  identified[REQUEST_ID] ??= makeRequestId()
  return identified[REQUEST_ID]
}
