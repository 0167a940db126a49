/** A map of at most `capacity` entries: setting one beyond that evicts the entry that was set least recently. */
export interface LeastRecentlySet<Value> {
  readonly size: number
  readonly get: (key: string) => Value | undefined
  readonly has: (key: string) => boolean
  /** All entries, those set least recently first. The one that was given last may be deleted meanwhile. */
  readonly entries: () => Iterable<[key: string, value: Value]>
  readonly delete: (key: string) => void
  /** Also makes the entry the most recent one. Reading does not. */
  readonly set: (key: string, value: Value) => void
}

/** An entry, in a list from the one set least recently to the one set last. */
interface Entry<Value> {
  readonly key: string
  value: Value | undefined
  before: Entry<Value> | undefined
  after: Entry<Value> | undefined
}

/**
 * The order is a list of its own, so that setting a key again leaves the map as it is, and an entry that goes is emptied. V8
 * copies a `Map` with many deletions to a new table and links the old one to it, so that an old table that garbage collection
 * moved to the old generation keeps all later ones, with all values they ever had, until the next full collection.
 */
export const makeLeastRecentlySet = <Value>(capacity: number): LeastRecentlySet<Value> => {
  const entries = new Map<string, Entry<Value>>()
  let first: Entry<Value> | undefined
  let last: Entry<Value> | undefined

  const unlink = (entry: Entry<Value>): void => {
    if (entry.before === undefined) first = entry.after
    else entry.before.after = entry.after
    if (entry.after === undefined) last = entry.before
    else entry.after.before = entry.before
    entry.before = undefined
    entry.after = undefined
  }
  const append = (entry: Entry<Value>): void => {
    entry.before = last
    if (last === undefined) first = entry
    else last.after = entry
    last = entry
  }
  const remove = (entry: Entry<Value>): void => {
    unlink(entry)
    entry.value = undefined
    entries.delete(entry.key)
  }

  return {
    get size() {
      return entries.size
    },
    get: (key) => entries.get(key)?.value,
    has: (key) => entries.has(key),
    entries: function* () {
      for (let entry = first; entry !== undefined; ) {
        const { after, key, value } = entry
        yield [key, value as Value]
        entry = after
      }
    },
    delete: (key) => {
      const entry = entries.get(key)
      if (entry !== undefined) remove(entry)
    },
    set: (key, value) => {
      const held = entries.get(key)
      if (held !== undefined) {
        held.value = value
        unlink(held)
        append(held)
        return
      }
      if (first !== undefined && entries.size >= capacity) remove(first)
      const entry: Entry<Value> = { key, value, before: undefined, after: undefined }
      entries.set(key, entry)
      append(entry)
    }
  }
}
