import * as Result from "effect/Result"
import { copyJson, ILL_FORMED_TEXT } from "../json/CopyJson.ts"
import type { JsonValue } from "../json/Json.ts"
import { BACKSLASH } from "../json/JsonText.ts"
import { illFormedStrings, type MalformedJson, parseStrictJson } from "../json/StrictJson.ts"
import { MAX_PROBLEM_ERRORS, type MemberFault } from "../Problem.ts"
import { MAX_BODY_BYTES } from "./MaxBodyBytes.ts"

/** Its private member tells it from anything else that a caller may give; only this module makes one. */
export class ParsedBody {
  readonly #value: JsonValue

  constructor(value: JsonValue) {
    this.#value = value
  }

  get value(): JsonValue {
    return this.#value
  }

  static is(body: unknown): body is ParsedBody {
    return typeof body === "object" && body !== null && #value in body
  }
}

/** A request body that is JSON by the rules of part 1 and not yet checked against a schema. See {@link parseRequestBody}. */
export type RequestBody = ParsedBody

/** Strings of a body that are not well-formed Unicode, or hold U+0000. */
export interface IllFormedStrings {
  readonly _tag: "IllFormedStrings"
  readonly errors: ReadonlyArray<MemberFault>
}

/**
 * Parses the bytes of a body (part 1), whose number the caller has bounded. Fails with `MalformedJson` for anything but the
 * accepted JSON, also for no bytes at all, and with `IllFormedStrings`.
 */
export const parseRequestBody = (
  bytes: Uint8Array
): Result.Result<RequestBody, MalformedJson | IllFormedStrings> => {
  const parsed = parseStrictJson(bytes, { keepFractions: true })
  if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
  // Bytes that are UTF-8 spell an ill-formed string with an escape alone, and U+0000 in no other way either.
  const pointers = bytes.includes(BACKSLASH) ? illFormedStrings(parsed.success, MAX_PROBLEM_ERRORS) : []
  if (pointers.length === 0) return Result.succeed(new ParsedBody(parsed.success))
  const errors = pointers.map((pointer) => ({ pointer, ...ILL_FORMED_TEXT }))
  return Result.fail({ _tag: "IllFormedStrings", errors })
}

/** The body `{}`. */
export const EMPTY_BODY: RequestBody = new ParsedBody({})

/**
 * The JSON of a request body. That of a caller in this process, who may give anything, is copied and checked by the rules that
 * hold for bytes; fails with every fault of it, at most 100.
 */
export const jsonOfBody = (body: unknown): Result.Result<JsonValue, ReadonlyArray<MemberFault>> =>
  ParsedBody.is(body) ? Result.succeed(body.value) : copyJson(body, MAX_BODY_BYTES)
