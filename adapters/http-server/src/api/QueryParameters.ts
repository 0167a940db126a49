import { LIST_LIMIT_MAX } from "@svc/protocol/request/ListPage"
import { Result, Schema, SchemaIssue } from "effect"
import { parseQuery } from "../gate/QueryString.ts"
import { malformedQuery, NO_QUERY_DETAIL } from "../gate/RequestSteps.ts"
import type { Refused } from "../http/ProblemResponse.ts"

const refuse = (detail: string) => Result.fail(malformedQuery(detail))

/** Whole numbers. Parsing as a number would also accept signs, exponents and white space. */
const WHOLE_NUMBERS: Readonly<Record<string, { readonly form: RegExp; readonly rule: string }>> = {
  limit: { form: /^\d{1,3}$/u, rule: `must be a whole number of 1 to ${LIST_LIMIT_MAX}` },
  after_seq: { form: /^\d{1,16}$/u, rule: "must be the seq of an event, a whole number from 1" }
}

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const parameterNames = (schema: Schema.Top): ReadonlyArray<string> =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)) : []

/** Lists the parameters that are accepted and never quotes the one that was sent. */
const unknownParameterDetail = (names: ReadonlyArray<string>): string =>
  names.length === 0
    ? NO_QUERY_DETAIL
    : `The query has a parameter that this route does not take; it takes ${names.join(", ")}.`

const NO_PARAMETERS = Result.succeed(Object.freeze({}))

const refuseValue = (name: string, rule = "is not valid") => refuse(`The parameter ${name}: ${rule}.`)

/** A decoder of the query of a URL by the endpoint's schema, a struct; absent for a route without parameters (part 2). */
export const queryDecoder = (
  schema: Schema.Top | undefined
): ((url: string) => Result.Result<unknown, Refused>) => {
  const decode =
    schema === undefined ? Result.succeed : Schema.decodeUnknownResult(schema as Schema.Codec<unknown>)
  const names = schema === undefined ? [] : parameterNames(schema)
  return (url) => {
    if (schema === undefined && !url.includes("?")) return NO_PARAMETERS
    const query = parseQuery(url)
    if (query === undefined) return refuse("The query is malformed or repeats a parameter.")
    if (Object.keys(query).some((name) => !names.includes(name))) return refuse(unknownParameterDetail(names))
    for (const [name, { form, rule }] of Object.entries(WHOLE_NUMBERS)) {
      const text = query[name]
      if (text !== undefined && !form.test(text)) return refuseValue(name, rule)
    }
    const decoded = decode({ ...query })
    if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
    const [issue] = formatIssues(decoded.failure.issue).issues
    return refuseValue(String(issue?.path?.[0]), issue?.message)
  }
}
