/*
 * Shapes of parsed JSON, in little code: what schemas check of a body, for a verifier that must stay small. A shape gives
 * the pointer to the first member that does not fit, or nothing.
 */
import { jsonPointer } from "@svc/protocol/json/JsonPointer"

export type Path = ReadonlyArray<PropertyKey>
export type Shape = (value: unknown, path: Path) => Path | undefined

/** A shape of whatever passes a test. */
export const where =
  (passes: (value: unknown) => boolean): Shape =>
  (value, path) =>
    passes(value) ? undefined : path

export const stringWhere = (passes: (text: string) => boolean): Shape =>
  where((value) => typeof value === "string" && passes(value))

export const matching = (pattern: RegExp): Shape => stringWhere((text) => pattern.test(text))

/** A string of so many code points. */
export const textBetween = (minimum: number, maximum: number): Shape =>
  stringWhere((text) => {
    // UTF-16 units are never fewer than code points.
    if (text.length < minimum || text.length > 2 * maximum) return false
    const codePoints = [...text].length
    return codePoints >= minimum && codePoints <= maximum
  })

export const integerBetween = (minimum: number, maximum: number): Shape =>
  where((value) => Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum)

export const oneOf = (...values: ReadonlyArray<unknown>): Shape => where((value) => values.includes(value))

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const listOf =
  (item: Shape, minimum: number, maximum: number): Shape =>
  (value, path) => {
    if (!Array.isArray(value) || value.length < minimum || value.length > maximum) return path
    for (const [index, entry] of value.entries()) {
      const fault = item(entry, [...path, index])
      if (fault !== undefined) return fault
    }
    return undefined
  }

/** An object whose members have any names of a shape. */
export const recordOf =
  (name: Shape, member: Shape, maximum: number): Shape =>
  (value, path) => {
    if (!isObject(value)) return path
    const entries = Object.entries(value)
    if (entries.length > maximum) return path
    for (const [key, entry] of entries) {
      const fault = name(key, path) ?? member(entry, [...path, key])
      if (fault !== undefined) return fault
    }
    return undefined
  }

/** An object with exactly these members. */
export const objectOf =
  (required: Readonly<Record<string, Shape>>, optional: Readonly<Record<string, Shape>> = {}): Shape =>
  (value, path) => {
    if (!isObject(value)) return path
    for (const name of Object.keys(required)) if (!Object.hasOwn(value, name)) return [...path, name]
    for (const [name, member] of Object.entries(value)) {
      const shape = Object.hasOwn(required, name)
        ? required[name]
        : Object.hasOwn(optional, name)
          ? optional[name]
          : undefined
      const fault = shape === undefined ? [...path, name] : shape(member, [...path, name])
      if (fault !== undefined) return fault
    }
    return undefined
  }

/** Pointer to the first member that does not fit. */
export const faultOf = (shape: Shape, value: unknown): string | undefined => {
  const path = shape(value, [])
  return path === undefined ? undefined : jsonPointer(path)
}
