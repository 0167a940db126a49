import { isIdentifier } from "@svc/protocol/Identifier"
import type { JsonObject } from "@svc/protocol/json/Json"
import { integerBetween } from "@svc/protocol/Mandate"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { LIST_LIMIT_MAX } from "@svc/protocol/request/ListPage"
import { Effect, Schema } from "effect"
import { OrganizationUnknown, type ValidationFailed } from "../Refusals.ts"
import { givenMembers, pathTexts } from "./GivenMembers.ts"
import { validBody } from "./WriteRequest.ts"

/** Why a query is refused before anything is looked up. */
export type QueryRefusal = OrganizationUnknown | ValidationFailed

/** What a query names: an organization by a well-formed identifier, and resources by identifiers that may be malformed. */
type PathQuery<Path extends string> = { readonly organization: string } & { readonly [P in Path]: string }

const readPath = <Path extends string>(
  given: { readonly [name: string]: unknown },
  path: ReadonlyArray<Path>
): Effect.Effect<PathQuery<Path>, OrganizationUnknown> => {
  const { organization } = given
  return typeof organization === "string" && isIdentifier("org_", organization)
    ? Effect.succeed({ ...pathTexts(given, path), organization })
    : Effect.fail(new OrganizationUnknown())
}

/** Reads a query for one resource. */
export const pathReader =
  <const Path extends string>(...path: ReadonlyArray<Path>) =>
  (query: unknown): Effect.Effect<PathQuery<Path>, OrganizationUnknown> =>
    readPath(givenMembers<string>(query, ["organization", ...path]), path)

/** The `limit` of a list (part 1). */
export const pageLimit = integerBetween(1, LIST_LIMIT_MAX)

type ListQuery<Fields extends Schema.Struct.Fields, Path extends string> = PathQuery<Path> &
  Schema.Struct.Type<Fields> & {
    /** Not checked: a list knows its own cursors. */
    readonly cursor: unknown
  }

/** Reads a query for a list, whose limit and filters meet a schema. */
export const listReader = <Fields extends Schema.Struct.Fields, const Path extends string = never>(
  fields: Fields,
  ...path: ReadonlyArray<Path>
) => {
  const names = Object.keys(fields)
  const decode = decodeBody(Schema.Struct(fields) as unknown as Schema.Decoder<Schema.Struct.Type<Fields>>)
  return Effect.fnUntraced(function* (
    query: unknown
  ): Effect.fn.Return<ListQuery<Fields, Path>, QueryRefusal> {
    const { cursor, ...given } = givenMembers<string>(query, ["organization", "cursor", ...path, ...names])
    const named = yield* readPath(given, path)
    const filters = Object.fromEntries(
      names.filter((name) => name in given).map((name) => [name, given[name]])
    )
    return { ...(yield* validBody(decode(filters as JsonObject))), ...named, cursor }
  })
}
