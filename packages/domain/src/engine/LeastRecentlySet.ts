/** A map of at most `capacity` entries: setting one beyond that evicts the entry that was set least recently. */
export interface LeastRecentlySet<Value> {
  readonly get: (key: string) => Value | undefined
  readonly has: (key: string) => boolean
  /** All entries, those set least recently first. */
  readonly entries: () => Iterable<[key: string, value: Value]>
  readonly delete: (key: string) => void
  /** Also makes the entry the most recent one. Reading does not. */
  readonly set: (key: string, value: Value) => void
}

export const makeLeastRecentlySet = <Value>(capacity: number): LeastRecentlySet<Value> => {
  const entries = new Map<string, Value>()
  return {
    get: (key) => entries.get(key),
    has: (key) => entries.has(key),
    entries: () => entries.entries(),
    delete: (key) => void entries.delete(key),
    set: (key, value) => {
      // A map keeps the place of a key that is set again, so it is deleted first.
      entries.delete(key)
      if (entries.size >= capacity) entries.delete(entries.keys().next().value!)
      entries.set(key, value)
    }
  }
}
