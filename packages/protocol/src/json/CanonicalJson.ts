import type { JsonValue } from "./Json.ts"

const encoder = new TextEncoder()

const writeString = (text: string): string => {
  if (!text.isWellFormed()) throw new TypeError("canonical JSON has no form for a lone surrogate")
  return JSON.stringify(text)
}

const writeNumber = (value: number): string => {
  if (!Number.isFinite(value)) throw new TypeError("canonical JSON has no form for a non-finite number")
  return value === 0 ? "0" : String(value)
}

/**
 * The canonical text of a value (JCS, RFC 8785): no white space, members sorted by UTF-16 code units,
 * numbers and strings as ECMAScript writes them.
 *
 * Meant for plain data whose depth is already bounded. Anything that JSON cannot carry (an `undefined`
 * member, a non-finite number, a lone surrogate) is a programming error and throws a `TypeError`.
 */
export const canonicalJson = (value: JsonValue): string => {
  switch (typeof value) {
    case "string":
      return writeString(value)
    case "number":
      return writeNumber(value)
    case "boolean":
      return value ? "true" : "false"
    case "object":
      if (value === null) return "null"
      return Array.isArray(value) ? writeArray(value) : writeObject(value as { [name: string]: JsonValue })
    default:
      throw new TypeError(`canonical JSON has no form for ${typeof value}`)
  }
}

const writeArray = (values: ReadonlyArray<JsonValue>): string => {
  let text = "["
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ","
    text += canonicalJson(values[index]!)
  }
  return `${text}]`
}

const writeObject = (object: { [name: string]: JsonValue }): string => {
  let text = "{"
  for (const name of Object.keys(object).sort()) {
    if (text.length > 1) text += ","
    text += `${writeString(name)}:${canonicalJson(object[name]!)}`
  }
  return `${text}}`
}

/** The UTF-8 bytes of `canonicalJson(value)`. */
export const canonicalBytes = (value: JsonValue): Uint8Array => encoder.encode(canonicalJson(value))
