/** Smaller responses are not counted, in bytes; the number of connections bounds them. */
const MIN_COUNTED_BYTES = 16 * 1024
/** Most unread bytes per API key. */
export const MAX_UNREAD_BYTES_PER_KEY = 128 * 1024 * 1024
/** Most unread bytes per client network without an API key. */
export const MAX_UNREAD_BYTES_PER_ADDRESS = 8 * 1024 * 1024
/** Most unread bytes of all clients of a listener together. */
export const MAX_UNREAD_BYTES = 512 * 1024 * 1024

/** The part of a `ServerResponse` that is used. */
export interface ResponseSink {
  readonly destroyed: boolean
  readonly once: (event: "close", listener: () => void) => unknown
}

/** The client whose unread responses are counted together. */
export interface Reader {
  readonly kind: "key" | "address"
  readonly id: string
}

export interface UnreadResponses {
  /**
   * Counts a response until it has been sent or its connection is closed. Any result but `counted` names the limit that the
   * response would exceed, so that it must not be sent: that of the `key` or `address`, or that of `all` clients.
   */
  readonly add: (response: ResponseSink, reader: Reader, bytes: number) => "counted" | Reader["kind"] | "all"
}

/** Bounds the memory of large responses that clients request and do not read. */
export const makeUnreadResponses = (
  limits: Readonly<Record<Reader["kind"] | "all", number>> = {
    key: MAX_UNREAD_BYTES_PER_KEY,
    address: MAX_UNREAD_BYTES_PER_ADDRESS,
    all: MAX_UNREAD_BYTES
  }
): UnreadResponses => {
  const byReader = new Map<string, number>()
  let all = 0
  const count = (name: string, bytes: number) => {
    all += bytes
    const unread = (byReader.get(name) ?? 0) + bytes
    if (unread === 0) byReader.delete(name)
    else byReader.set(name, unread)
  }
  return {
    add: (response, { id, kind }, bytes) => {
      if (bytes < MIN_COUNTED_BYTES || response.destroyed) return "counted"
      const name = `${kind} ${id}`
      // A client without unread responses may have one of any size.
      if (byReader.has(name) && (byReader.get(name) ?? 0) + bytes > limits[kind]) return kind
      if (all > 0 && all + bytes > limits.all) return "all"
      count(name, bytes)
      response.once("close", () => count(name, -bytes))
      return "counted"
    }
  }
}
