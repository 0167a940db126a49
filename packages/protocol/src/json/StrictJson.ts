import * as Data from "effect/Data"
import * as Result from "effect/Result"
import type { JsonValue } from "./Json.ts"
import { pointerStep, REPEATED_NAME_MAX_UNITS } from "./JsonPointer.ts"
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE
} from "./JsonText.ts"
import { parseJson } from "./ParseJson.ts"

/** Deepest nesting of objects and arrays in a request body, the body itself being level 1 (part 1). */
export const MAX_JSON_DEPTH = 32

/** The bytes are not the JSON that part 1 accepts. `detail` says why and never quotes the bytes. */
export class MalformedJson extends Data.TaggedError("MalformedJson")<{ readonly detail: string }> {}

const BYTE_ORDER_MARK = 0xfeff
const MINUS = 0x2d
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/** Every literal of at most this many characters without an exponent is below 2^53. */
const SURELY_SAFE_DIGITS = 15

const malformed = (detail: string) => Result.fail(new MalformedJson({ detail }))

/**
 * Parses a body by the rules of part 1: UTF-8 without a byte order mark, no duplicate member name at
 * any depth (names compared after decoding), no integer beyond 2^53-1, no number that overflows, and at
 * most `maxDepth` levels (default `MAX_JSON_DEPTH`). A member named `__proto__` is an ordinary member. With
 * `plainIntegers` a number has neither fraction nor exponent, not even `.0` or `e0` (part 7). A fraction that a double
 * would round to an integer is refused; with `keepFractions` it is read as another fraction, so that a schema that wants an
 * integer there reports that member.
 *
 * Neither time nor stack depends on the nesting of the input. Strings are not checked here: see
 * `illFormedStrings`.
 */
export const parseStrictJson = (
  bytes: Uint8Array,
  options: {
    readonly maxDepth?: number
    readonly plainIntegers?: boolean
    readonly keepFractions?: boolean
  } = {}
): Result.Result<JsonValue, MalformedJson> => {
  const text = decodeUtf8(bytes)
  if (text === undefined) return malformed("The body is not well-formed UTF-8.")
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) return malformed("The body begins with a byte order mark.")
  const maxDepth = options.maxDepth ?? MAX_JSON_DEPTH
  if (isDeeperThan(text, maxDepth)) return malformed(`The body nests deeper than ${maxDepth} levels.`)
  const value = parsedOf(text)
  if (value === undefined) return malformed("The body is not valid JSON.")
  const fault = faultOf(text, options.plainIntegers === true ? plainIntegerFault : numberFault)
  if (fault === undefined) return Result.succeed(value)
  if (fault !== ROUNDED_FRACTION || options.keepFractions !== true) return malformed(fault)
  return parseStrictJson(new TextEncoder().encode(withoutRoundedFractions(text)), options)
}

const ROUNDED_FRACTION = "The body holds a fraction that would be rounded to an integer."

/** A fraction that a double holds exactly. */
const SOME_FRACTION = "0.5"

const withoutRoundedFractions = (text: string): string => {
  let kept = ""
  let from = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === MINUS || (code >= DIGIT_0 && code <= DIGIT_9)) {
      const end = endOfNumber(text, index)
      if (numberFault(text.slice(index, end)) === ROUNDED_FRACTION) {
        kept += text.slice(from, index) + SOME_FRACTION
        from = end
      }
      index = end - 1
    }
  }
  return kept + text.slice(from)
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const parsedOf = (text: string): JsonValue | undefined => {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** Runs before the parser, on text that may be anything, so that no parser meets deep nesting. */
const isDeeperThan = (text: string, maxDepth: number): boolean => {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++depth > maxDepth) return true
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
  }
  return false
}

/** What a parsed value no longer shows: repeated names and the written form of numbers. */
const faultOf = (
  text: string,
  numberFaultOf: (literal: string) => string | undefined
): string | undefined => {
  const open: Array<Set<string> | undefined> = []
  let names: Set<string> | undefined
  let atName = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      const end = endOfString(text, index)
      if (atName && names !== undefined) {
        const name = decodeName(text.slice(index + 1, end))
        if (names.has(name)) return "The body holds an object with a duplicate member name."
        names.add(name)
      }
      index = end
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      open.push(names)
      names = code === OPEN_OBJECT ? new Set() : undefined
      atName = true
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) names = open.pop()
    else if (code === COMMA) atName = true
    else if (code === COLON) atName = false
    else if (code === MINUS || (code >= DIGIT_0 && code <= DIGIT_9)) {
      const end = endOfNumber(text, index)
      const fault = numberFaultOf(text.slice(index, end))
      if (fault !== undefined) return fault
      index = end - 1
    }
  }
  return undefined
}

const decodeName = (written: string): string =>
  written.includes("\\") ? (JSON.parse(`"${written}"`) as string) : written

const endOfNumber = (text: string, start: number): number => {
  let end = start + 1
  while (end < text.length && "0123456789+-.eE".includes(text[end]!)) end++
  return end
}

/**
 * Every double above 2^53-1 is an integer, and every integer above 2^53-1 reads as such a double, so
 * the double alone decides, however the literal was written.
 */
const numberFault = (literal: string): string | undefined => {
  if (literal.length <= SURELY_SAFE_DIGITS && !/[eE]/.test(literal)) return undefined
  const magnitude = Math.abs(Number(literal))
  if (magnitude === Number.POSITIVE_INFINITY) return "The body holds a number that overflows."
  if (magnitude > Number.MAX_SAFE_INTEGER) return "The body holds an integer beyond 2^53-1."
  if (magnitude >= 1 && Number.isInteger(magnitude) && hasFraction(literal)) {
    return ROUNDED_FRACTION
  }
  return undefined
}

const plainIntegerFault = (literal: string): string | undefined =>
  /[.eE]/u.test(literal) ? "The JSON holds a number with a fraction or an exponent." : numberFault(literal)

const NUMBER_PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/u

/** Whether the value as written, before any rounding, has digits other than 0 behind the decimal point. */
const hasFraction = (literal: string): boolean => {
  const [, whole = "", fraction = "", exponent = "0"] = NUMBER_PARTS.exec(literal) ?? []
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  return /[1-9]/u.test(point <= 0 ? digits : digits.slice(point))
}

const isIllFormed = (text: string): boolean => !text.isWellFormed() || text.includes("\u0000")

/**
 * JSON pointers (RFC 6901), in document order and at most `limit`, of the strings that hold a lone surrogate or U+0000
 * (part 1). A member whose own name is ill-formed has no pointer that could be written: it is reported once as the
 * object that contains it, and nothing below it is looked at. Under a name of more than 40 UTF-16 units, what is found
 * is reported as the object that has the name.
 *
 * The value must come from `parseStrictJson`, which bounds its depth.
 */
export const illFormedStrings = (value: JsonValue, limit: number): ReadonlyArray<string> => {
  const pointers = new Set<string>()
  collectIllFormed(value, "", { pointers, limit, nameable: true })
  return [...pointers]
}

interface Collection {
  readonly pointers: Set<string>
  readonly limit: number
  /** Whether names below are still appended to the pointer. */
  readonly nameable: boolean
}

const collectIllFormed = (value: JsonValue, pointer: string, into: Collection): void => {
  if (into.pointers.size >= into.limit) return
  if (typeof value === "string") {
    if (isIllFormed(value)) into.pointers.add(pointer)
  } else if (typeof value === "object" && value !== null) {
    for (const name of Object.keys(value)) {
      if (into.pointers.size >= into.limit) return
      const member = (value as Readonly<Record<string, JsonValue>>)[name] as JsonValue
      const nameable = into.nameable && name.length <= REPEATED_NAME_MAX_UNITS
      if (isIllFormed(name)) into.pointers.add(pointer)
      else {
        collectIllFormed(member, nameable ? pointer + pointerStep(name) : pointer, {
          ...into,
          nameable
        })
      }
    }
  }
}
