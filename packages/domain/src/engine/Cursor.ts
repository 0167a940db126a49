import { utf8ToBytes } from "@noble/hashes/utils.js"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { type IdentifierPrefix, isIdentifier } from "@svc/protocol/Identifier"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import { isJsonObject, type JsonObject } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import type { ListPage } from "@svc/protocol/request/ListPage"
import { isWellFormedText } from "@svc/protocol/Text"
import { Effect, Result } from "effect"
import { InvalidCursor } from "../Refusals.ts"

/** Which list a cursor belongs to: whose it is, its route and filters. */
export type ListScope = JsonObject

/** An opaque keyset cursor: where the next page of this very list begins. */
export const encodeCursor = (scope: ListScope, after: string | number): string =>
  encodeBase64Url(utf8ToBytes(canonicalJson({ after, scope })))

const decode = (scope: ListScope, cursor: unknown): string | number | undefined => {
  if (typeof cursor !== "string") return undefined
  const bytes = decodeBase64Url(cursor)
  if (bytes === undefined) return undefined
  const parsed = parseStrictJson(bytes)
  if (Result.isFailure(parsed) || !isJsonObject(parsed.success)) return undefined
  const { after } = parsed.success
  if (typeof after !== "number" && !(typeof after === "string" && isWellFormedText(after))) return undefined
  return encodeCursor(scope, after) === cursor ? after : undefined
}

/** The position in a cursor that identifies entries by text. */
export const textCursor = (
  scope: ListScope,
  cursor: unknown
): Effect.Effect<string | undefined, InvalidCursor> => {
  if (cursor === undefined) return Effect.succeed(undefined)
  const after = decode(scope, cursor)
  return typeof after === "string" ? Effect.succeed(after) : Effect.fail(new InvalidCursor())
}

/** The position in a cursor that identifies entries by their identifier. */
export const identifierCursor = (
  scope: ListScope,
  prefix: IdentifierPrefix,
  cursor: unknown
): Effect.Effect<string | undefined, InvalidCursor> =>
  Effect.filterOrFail(
    textCursor(scope, cursor),
    (after) => after === undefined || isIdentifier(prefix, after),
    () => new InvalidCursor()
  )

/** The position in a cursor that identifies entries by a number from 1. */
export const numberCursor = (
  scope: ListScope,
  cursor: unknown
): Effect.Effect<number | undefined, InvalidCursor> => {
  if (cursor === undefined) return Effect.succeed(undefined)
  const after = decode(scope, cursor)
  return typeof after === "number" && Number.isSafeInteger(after) && after > 0
    ? Effect.succeed(after)
    : Effect.fail(new InvalidCursor())
}

/** A page of what a store answered, which is one entry more than `limit` when there are more. */
export const listPageOf = <A, B>(
  scope: ListScope,
  found: ReadonlyArray<A>,
  limit: number,
  position: (entry: A) => string | number,
  show: (entry: A) => B
): ListPage<B> => {
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  const more = found.length > limit && last !== undefined
  return {
    data: shown.map(show),
    has_more: more,
    next_cursor: more ? encodeCursor(scope, position(last)) : null
  }
}
