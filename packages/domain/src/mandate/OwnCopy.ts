/**
 * A copy of a resource as it is in JSON, all the way down, for a caller to do with as it likes.
 *
 * @example
 * ```ts
 * ownCopy(mandate.terms.policy) === mandate.terms.policy // false
 * ```
 */
export const ownCopy = <A>(json: A): A => {
  if (typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map(ownCopy) as A
  const copy = { ...json } as { [name: string]: unknown }
  for (const name of Object.keys(copy)) {
    // The member is there already, so a name like `__proto__` is set as any other.
    const member = copy[name]
    if (typeof member === "object") copy[name] = ownCopy(member)
  }
  return copy as A
}
