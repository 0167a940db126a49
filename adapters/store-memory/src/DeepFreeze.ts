const known = new WeakSet<object>()

/**
 * Freezes plain data all the way down and returns it, so that the store and its callers can share it: what
 * was recorded cannot change, and is handed out without a copy. Data frozen here before is not walked again.
 */
export const deepFreeze = <A>(data: A): A => {
  const rest: Array<unknown> = [data]
  while (rest.length > 0) {
    const value = rest.pop()
    if (typeof value !== "object" || value === null || known.has(value)) continue
    known.add(Object.freeze(value))
    rest.push(...Object.values(value))
  }
  return data
}
