/** Answers from this size on are counted, in bytes; smaller ones are bounded by the number of connections. */
const COUNTED_FROM_BYTES = 16 * 1024
/** Most bytes of answers that one API key may leave unread: two of the largest evidence. */
export const MAX_UNREAD_BYTES_PER_KEY = 128 * 1024 * 1024
/** Most bytes of answers that all callers of a listener together may leave unread. */
export const MAX_UNREAD_BYTES = 512 * 1024 * 1024

/** Where an answer goes, as far as it is looked at: a `ServerResponse`. */
export interface AnswerSink {
  readonly destroyed: boolean
  readonly once: (event: "close", listener: () => void) => unknown
}

export interface UnreadAnswers {
  /**
   * Counts an answer until its connection has taken it or is gone. `key`: its caller has too much unread already, `all`:
   * everybody together has; the answer is not to be sent then.
   */
  readonly add: (response: AnswerSink, key: string, bytes: number) => "counted" | "key" | "all"
}

/** Bounds the memory that callers take who ask for large answers and do not read them. */
export const makeUnreadAnswers = (
  limits: { readonly perKey: number; readonly all: number } = {
    perKey: MAX_UNREAD_BYTES_PER_KEY,
    all: MAX_UNREAD_BYTES
  }
): UnreadAnswers => {
  const byKey = new Map<string, number>()
  let all = 0
  const count = (key: string, bytes: number) => {
    all += bytes
    const unread = (byKey.get(key) ?? 0) + bytes
    if (unread === 0) byKey.delete(key)
    else byKey.set(key, unread)
  }
  return {
    add: (response, key, bytes) => {
      if (bytes < COUNTED_FROM_BYTES || response.destroyed) return "counted"
      // A caller that has nothing unread may have any one answer.
      if (byKey.has(key) && (byKey.get(key) ?? 0) + bytes > limits.perKey) return "key"
      if (all > 0 && all + bytes > limits.all) return "all"
      count(key, bytes)
      response.once("close", () => count(key, -bytes))
      return "counted"
    }
  }
}
