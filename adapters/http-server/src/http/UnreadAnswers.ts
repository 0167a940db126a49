/** Answers from this size on are counted, in bytes; smaller ones are bounded by the number of connections. */
const COUNTED_FROM_BYTES = 16 * 1024
/** Most bytes of answers that one API key may leave unread: two of the largest evidence. */
export const MAX_UNREAD_BYTES_PER_KEY = 128 * 1024 * 1024
/** Most bytes of answers that one address may leave unread without an API key. */
export const MAX_UNREAD_BYTES_PER_ADDRESS = 8 * 1024 * 1024
/** Most bytes of answers that all callers of a listener together may leave unread. */
export const MAX_UNREAD_BYTES = 512 * 1024 * 1024

/** Where an answer goes, as far as it is looked at: a `ServerResponse`. */
export interface AnswerSink {
  readonly destroyed: boolean
  readonly once: (event: "close", listener: () => void) => unknown
}

/** Whose unread answers are counted together. */
export interface Reader {
  readonly kind: "key" | "address"
  readonly id: string
}

export interface UnreadAnswers {
  /**
   * Counts an answer until its connection has taken it or is gone. `key` and `address`: its reader has too much unread
   * already, `all`: everybody together has; the answer is not to be sent then.
   */
  readonly add: (response: AnswerSink, reader: Reader, bytes: number) => "counted" | Reader["kind"] | "all"
}

/** Bounds the memory that readers take who ask for large answers and do not read them. */
export const makeUnreadAnswers = (
  limits: Readonly<Record<Reader["kind"] | "all", number>> = {
    key: MAX_UNREAD_BYTES_PER_KEY,
    address: MAX_UNREAD_BYTES_PER_ADDRESS,
    all: MAX_UNREAD_BYTES
  }
): UnreadAnswers => {
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
      if (bytes < COUNTED_FROM_BYTES || response.destroyed) return "counted"
      const name = `${kind} ${id}`
      // Who has nothing unread may have any one answer.
      if (byReader.has(name) && (byReader.get(name) ?? 0) + bytes > limits[kind]) return kind
      if (all > 0 && all + bytes > limits.all) return "all"
      count(name, bytes)
      response.once("close", () => count(name, -bytes))
      return "counted"
    }
  }
}
