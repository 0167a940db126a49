import { isDeepStrictEqual } from "node:util"
import { canonicalBytes, canonicalJson } from "@svc/protocol/json/CanonicalJson"
import { copyJson } from "@svc/protocol/json/CopyJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import { parseJson } from "@svc/protocol/json/ParseJson"
import { illFormedStrings, parseStrictJson } from "@svc/protocol/json/StrictJson"
import { parseRequestBody } from "@svc/protocol/request/RequestBody"
import { Result } from "effect"
import { demand, type FuzzTarget } from "../FuzzTarget.ts"

const parsedByAny = (bytes: Uint8Array): { readonly value: JsonValue } | undefined => {
  try {
    return { value: parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) }
  } catch {
    return undefined
  }
}

const seeds = [
  '{"a":1,"b":[true,false,null,"text"],"c":{"d":-1.5e3}}',
  '{"amount":9007199254740991,"__proto__":{"x":1},"\\u0061":"\\ud83d\\ude00"}',
  "[[[[[[[[]]]]]]]]",
  '{"a":1,"\\u0061":2}',
  "0.1000000000000000055511151231257827",
  '  {"\u20ac":"\u00fc\\n\\/"}  '
]

const words = [
  '{"a":',
  '"a"',
  "[",
  "]",
  "{",
  "}",
  ",",
  ":",
  "true",
  "false",
  "null",
  "1E400",
  "1e-400",
  "0.5",
  "1.0",
  "-0.0",
  "4503599627370496.5",
  "\\u0000",
  "\\udfff",
  "\\u0061",
  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
]

/** What the strict reader takes is what any reads, and nothing more. */
export const strictJson: FuzzTarget = {
  seeds,
  words,
  run: (input) => {
    const strict = parseStrictJson(input)
    const kept = parseStrictJson(input, { keepFractions: true })
    const plain = parseStrictJson(input, { plainIntegers: true })
    const lenient = parsedByAny(input)
    if (Result.isSuccess(strict)) {
      demand(lenient !== undefined, "strict JSON is taken that is no JSON")
      demand(isDeepStrictEqual(strict.success, lenient?.value), "strict JSON is read in another way")
      demand(Result.isSuccess(kept), "keeping fractions refuses what is right")
    }
    if (Result.isSuccess(plain))
      demand(Result.isSuccess(strict), "plain integers take what is refused otherwise")
    if (Result.isSuccess(kept)) demand(lenient !== undefined, "keeping fractions takes what is no JSON")
    const body = parseRequestBody(input)
    demand(
      Result.isSuccess(body) === (Result.isSuccess(kept) && illFormedStrings(kept.success, 1).length === 0),
      "a body is read otherwise than JSON"
    )
  }
}

/** With members in the order of their UTF-16 units, which is all that RFC 8785 asks beyond what the runtime writes. */
const written = (value: JsonValue): string => {
  if (Array.isArray(value)) return `[${value.map(written).join()}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value as Readonly<Record<string, JsonValue>>)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${written(member)}`)
  return `{${members.join()}}`
}

/** Canonical JSON is what the runtime writes with its members sorted, and is read as it was written. */
export const canonical: FuzzTarget = {
  seeds: [...seeds, '{"10":1,"9":2,"\\u20ac":3,"\\r":4,"\\ud83d\\ude00":5,"\\ufb33":6}'],
  words,
  run: (input) => {
    const parsed = parseStrictJson(input)
    if (Result.isFailure(parsed)) return
    const value = parsed.success
    if (illFormedStrings(value, 1).length > 0) return
    const text = canonicalJson(value)
    demand(text === written(value), "canonical JSON is not what the runtime writes")
    const again = parseStrictJson(canonicalBytes(value))
    demand(Result.isSuccess(again) && canonicalJson(again.success) === text, "canonical JSON does not stay")
    const copied = copyJson(value, 1_000_000)
    demand(Result.isSuccess(copied) && canonicalJson(copied.success) === text, "a copy is another value")
  }
}
