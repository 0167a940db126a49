import type { JsonValue } from "./Json.ts"

const encoder = new TextEncoder()

/** Objects of the interface have few members, and for few names this takes half the time and memory of `sort`. */
const MAX_INSERTED_NAMES = 16

/** The names of an object by UTF-16 code units. */
const sortedNames = (object: object): ReadonlyArray<string> => {
  const names = Object.keys(object)
  if (names.length > MAX_INSERTED_NAMES) return names.sort()
  for (let index = 1; index < names.length; index++) {
    const name = names[index]!
    let place = index
    for (; place > 0 && names[place - 1]! > name; place--) names[place] = names[place - 1]!
    names[place] = name
  }
  return names
}

const checkString = (text: string): string => {
  if (!text.isWellFormed()) throw new TypeError("canonical JSON has no form for a lone surrogate")
  return text
}

const checkNumber = (value: number): number => {
  if (!Number.isFinite(value)) throw new TypeError("canonical JSON has no form for a non-finite number")
  return value
}

/**
 * The canonical text of a value (JCS, RFC 8785): no white space, members sorted by UTF-16 code units,
 * numbers and strings as ECMAScript writes them.
 *
 * Meant for plain data whose depth is already bounded. Anything that JSON cannot carry (an `undefined`
 * member, a non-finite number, a lone surrogate) is a programming error and throws a `TypeError`.
 */
export const canonicalJson = (value: JsonValue): string => {
  const sorted = sortMembers(value)
  return sorted === undefined ? writeSorted(value) : JSON.stringify(sorted)
}

/**
 * The value with the members of each object in canonical order, in which `JSON.stringify` then writes them; `undefined` where
 * an object cannot have that order.
 */
const sortMembers = (value: JsonValue): JsonValue | undefined => {
  switch (typeof value) {
    case "string":
      return checkString(value)
    case "number":
      return checkNumber(value)
    case "boolean":
      return value
    case "object":
      if (value === null) return null
      return Array.isArray(value)
        ? sortMembersOfEach(value)
        : sortOwnMembers(value as { [name: string]: JsonValue })
    default:
      throw new TypeError(`canonical JSON has no form for ${typeof value}`)
  }
}

const sortMembersOfEach = (values: ReadonlyArray<JsonValue>): JsonValue | undefined => {
  const sorted: Array<JsonValue> = []
  for (let index = 0; index < values.length; index++) {
    const value = sortMembers(values[index]!)
    if (value === undefined) return undefined
    sorted.push(value)
  }
  return sorted
}

const sortOwnMembers = (object: { [name: string]: JsonValue }): JsonValue | undefined => {
  const sorted = new SortedMembers()
  for (const name of sortedNames(object)) {
    const member = sortMembers(object[name]!)
    if (member === undefined || name < AFTER_DIGITS) return undefined
    sorted[checkString(name)] = member
  }
  return sorted
}

/**
 * Members as they are added, whatever their names: nothing is inherited, so that `__proto__` is a name as any other, as is one
 * that a host has given all objects.
 */
class SortedMembers {
  [name: string]: JsonValue
}
Object.setPrototypeOf(SortedMembers.prototype, null)
Reflect.deleteProperty(SortedMembers.prototype, "constructor")

/** The first character after the digits. An object has the members whose names are array indices first. */
const AFTER_DIGITS = ":"

/** The same text without such a copy, for any names, in some twice the time. */
const writeSorted = (value: JsonValue): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(sortMembers(value))
  if (Array.isArray(value)) return `[${Array.from(value, writeSorted).join(",")}]`
  const object = value as { [name: string]: JsonValue }
  const members = sortedNames(object).map(
    (name) => `${JSON.stringify(checkString(name))}:${writeSorted(object[name]!)}`
  )
  return `{${members.join(",")}}`
}

/** The UTF-8 bytes of `canonicalJson(value)`. */
export const canonicalBytes = (value: JsonValue): Uint8Array => encoder.encode(canonicalJson(value))
