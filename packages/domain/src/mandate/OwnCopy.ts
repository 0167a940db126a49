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
  return Object.fromEntries(Object.entries(json).map(([name, member]) => [name, ownCopy(member)])) as A
}
