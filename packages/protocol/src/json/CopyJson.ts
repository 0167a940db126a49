import * as Result from "effect/Result"
import { MAX_PROBLEM_ERRORS, type MemberFault } from "../Problem.ts"
import { isWellFormedText } from "../Text.ts"
import { utf8Length } from "../Utf8.ts"
import type { JsonValue } from "./Json.ts"
import { jsonPointer, REPEATED_NAME_MAX_UNITS } from "./JsonPointer.ts"
import { MAX_JSON_DEPTH } from "./StrictJson.ts"

/** The fault of a string, or of a name, that is not well-formed (part 1). */
export const ILL_FORMED_TEXT = {
  code: "invalid_value",
  detail: "Must be well-formed Unicode without U+0000."
} as const

const NOT_JSON = {
  code: "invalid_type",
  detail: "must be null, a boolean, a number, a string, an array or a plain object"
} as const
const DATE = {
  code: "invalid_type",
  detail: "must be a text, such as toISOString() of a Date gives"
} as const
const UNREADABLE = { code: "invalid_type", detail: "could not be read" } as const
const INEXACT_NUMBER = {
  code: "invalid_value",
  detail: "must be a finite number of at most 2^53-1 in magnitude"
} as const

/** Most bytes of a UTF-16 unit in JSON text, as in \u0001. */
const MAX_UNIT_BYTES = 6
/** Most bytes of a finite number in JSON text, as in -2.2250738585072014e-308. */
const MAX_NUMBER_BYTES = 24

/**
 * Copies a value of this process by the rules for a parsed body (part 1): own enumerable members of plain objects, well-formed
 * strings, exact numbers, at most `MAX_JSON_DEPTH` levels, at most `maxBytes` of UTF-8 as JSON text without white space. Fails
 * with every fault, at most 100. Never throws, whatever the value is.
 *
 * Each member is read once, so neither a getter nor a later change of the value has an effect on the copy. A member that is
 * `undefined` is a fault, as it would be missing from the JSON. A cyclic value nests too deeply.
 */
export const copyJson = (
  value: unknown,
  maxBytes: number
): Result.Result<JsonValue, ReadonlyArray<MemberFault>> => {
  const copying: Copying = { maxBytes, leastBytes: 0, mostBytes: 0, path: [], faults: [], stop: undefined }
  const copy = copyValue(value, copying)
  if (copying.stop !== undefined) return Result.fail([wholeFault(copying.stop)])
  if (copying.faults.length > 0) return Result.fail(copying.faults)
  const isLarge = copying.mostBytes > maxBytes && utf8Length(JSON.stringify(copy)) > maxBytes
  return isLarge ? Result.fail([wholeFault(sizeRule(maxBytes))]) : Result.succeed(copy)
}

interface Copying {
  readonly maxBytes: number
  /** Between these is the size of what was copied so far as JSON text. An exact count would take longer than the copy. */
  leastBytes: number
  mostBytes: number
  /** Names and indices that lead to the present value. */
  readonly path: Array<PropertyKey>
  readonly faults: Array<MemberFault>
  /** The rule that the value as a whole breaks; nothing more is read then. */
  stop: string | undefined
}

const DEPTH_RULE = `must not nest deeper than ${MAX_JSON_DEPTH} levels`

const sizeRule = (maxBytes: number): string => `must have at most ${maxBytes} bytes as JSON`

const wholeFault = (detail: string): MemberFault => ({ pointer: "", code: "invalid_value", detail })

/** Stands in the copy, which is then of no use, for a value with a fault. */
const FAULTY = null

const report = ({ faults, path }: Copying, fault: Omit<MemberFault, "pointer">): null => {
  const long = path.findIndex((step) => String(step).length > REPEATED_NAME_MAX_UNITS)
  if (faults.length < MAX_PROBLEM_ERRORS) {
    faults.push({ pointer: jsonPointer(long === -1 ? path : path.slice(0, long)), ...fault })
  }
  return FAULTY
}

const count = (copying: Copying, least: number, most: number): void => {
  copying.leastBytes += least
  copying.mostBytes += most
  if (copying.leastBytes > copying.maxBytes) copying.stop = sizeRule(copying.maxBytes)
}

const countText = (copying: Copying, text: string): void =>
  count(copying, text.length + 2, text.length * MAX_UNIT_BYTES + 2)

const copyValue = (value: unknown, copying: Copying): JsonValue => {
  switch (typeof value) {
    case "string":
      countText(copying, value)
      if (copying.stop !== undefined) return FAULTY
      return isWellFormedText(value) ? value : report(copying, ILL_FORMED_TEXT)
    case "number":
      count(copying, 1, MAX_NUMBER_BYTES)
      if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return report(copying, INEXACT_NUMBER)
      // JSON text has no minus zero.
      return value === 0 ? 0 : value
    case "boolean":
      count(copying, "true".length, "false".length)
      return value
    case "object":
      if (value !== null) return copyContainer(value, copying)
      count(copying, "null".length, "null".length)
      return null
    default:
      return report(copying, NOT_JSON)
  }
}

/** Copies an array or a plain object. A proxy or a getter may throw. */
const copyContainer = (value: object, copying: Copying): JsonValue => {
  const { path } = copying
  const depth = path.length
  if (depth >= MAX_JSON_DEPTH) {
    copying.stop = DEPTH_RULE
    return FAULTY
  }
  try {
    if (Array.isArray(value)) return copyArray(value, copying)
    if (isPlainObject(value)) return copyObject(value, copying)
    return report(copying, value instanceof Date ? DATE : NOT_JSON)
  } catch {
    const fault = report(copying, UNREADABLE)
    path.length = depth
    return fault
  }
}

/** Whether its prototype is none, or the `Object.prototype` of this or another realm. */
const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

const isOver = ({ faults, stop }: Copying): boolean =>
  stop !== undefined || faults.length >= MAX_PROBLEM_ERRORS

/** Bytes of the brackets around so many entries and the commas between them. */
const frameBytes = (entries: number): number => 2 + Math.max(0, entries - 1)

const copyArray = (values: ReadonlyArray<unknown>, copying: Copying): JsonValue => {
  const { length } = values
  if (!Number.isSafeInteger(length) || length < 0) return report(copying, UNREADABLE)
  const frame = frameBytes(length)
  count(copying, frame, frame)
  const copy: Array<JsonValue> = []
  for (let index = 0; index < length && !isOver(copying); index++) {
    copying.path.push(index)
    copy.push(copyValue(values[index], copying))
    copying.path.pop()
  }
  return copy
}

const copyObject = (object: object, copying: Copying): JsonValue => {
  const names = Object.keys(object)
  const frame = frameBytes(names.length) + names.length
  count(copying, frame, frame)
  const copy: Record<string, JsonValue> = {}
  for (const name of names) {
    if (isOver(copying)) break
    countText(copying, name)
    if (!isWellFormedText(name)) {
      report(copying, ILL_FORMED_TEXT)
      continue
    }
    copying.path.push(name)
    setMember(copy, name, copyValue((object as Readonly<Record<string, unknown>>)[name], copying))
    copying.path.pop()
  }
  return copy
}

/** An assignment to an inherited name, such as `__proto__`, may set something else, or fail. */
const setMember = (copy: Record<string, JsonValue>, name: string, value: JsonValue): void => {
  if (!(name in copy)) copy[name] = value
  else Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true })
}
