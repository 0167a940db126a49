import type { JsonValue } from "./Json.ts"
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

/** White space of JSON has no greater code. */
const SPACE = 0x20

/**
 * The value of a JSON text, as `JSON.parse` gives it, whatever the process has parsed before. Throws a `SyntaxError` for any other
 * text.
 *
 * V8 may take a member's name that is written with an escape for another one, which it has met in that place of an object: where
 * `{"a":1,"\\":1}` was parsed before, it reads `{"a":1,"\n":1}` as the same (nodejs/node#63785). Names that are written as they are
 * and strings in other places are not affected. So a text with a backslash is parsed to be checked, and then read name by name.
 *
 * @example
 * parseJson('{"a":1,"\\n":2}') // { a: 1, "\n": 2 }
 */
export const parseJson = (text: string): JsonValue => {
  const value = JSON.parse(text) as JsonValue
  return text.includes("\\") ? readValid(text) : value
}

type Container = Array<JsonValue> | { [name: string]: JsonValue }

/** A value that is no object or array ends before one of these. */
const ENDS_LITERAL = /[\s,\]}]/u

const endOfLiteral = (text: string, start: number): number => {
  let end = start
  while (end < text.length && !ENDS_LITERAL.test(text[end]!)) end++
  return end
}

/** Reads a text that is JSON, without regard to how deep it nests. */
const readValid = (text: string): JsonValue => {
  const open: Array<Container> = []
  let root: JsonValue = null
  let isName = false
  let name = ""
  const put = (value: JsonValue): void => {
    const into = open.at(-1)
    if (into === undefined) root = value
    else if (Array.isArray(into)) into.push(value)
    // A member of its own, also where the name is `__proto__`, or one for which a host has made a setter.
    else Object.defineProperty(into, name, { value, configurable: true, enumerable: true, writable: true })
  }
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      const end = endOfString(text, index)
      const string = JSON.parse(text.slice(index, end + 1)) as string
      if (isName) name = string
      else put(string)
      index = end
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      const container: Container = code === OPEN_OBJECT ? {} : []
      put(container as JsonValue)
      open.push(container)
      isName = code === OPEN_OBJECT
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) open.pop()
    else if (code === COMMA) isName = !Array.isArray(open.at(-1))
    else if (code === COLON) isName = false
    else if (code > SPACE) {
      const end = endOfLiteral(text, index)
      put(JSON.parse(text.slice(index, end)) as JsonValue)
      index = end - 1
    }
  }
  return root
}
