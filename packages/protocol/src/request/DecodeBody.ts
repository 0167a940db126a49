import { Result, Schema, type SchemaAST, SchemaIssue } from "effect"
import { isJsonObject, type JsonValue } from "../json/Json.ts"
import { jsonPointer, REPEATED_NAME_MAX_UNITS } from "../json/JsonPointer.ts"
import { MAX_PROBLEM_ERRORS, type MemberFault } from "../Problem.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** What a member of a type must be, in the words of JSON. */
const TYPES: Readonly<Record<string, string>> = {
  String: "must be a string",
  Number: "must be a number",
  Boolean: "must be true or false",
  Arrays: "must be an array",
  Objects: "must be an object"
}

const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (ast._tag === "Union") return ast.types.flatMap(literalsOf)
  return ast._tag === "Literal" ? [String(ast.literal)] : []
}

/** What the schema wants, in its own words if it has any: they say more than the type. */
const wantedBy = (ast: SchemaAST.AST): string | undefined => {
  const [only, ...others] = literalsOf(ast)
  if (only !== undefined)
    return others.length === 0 ? `must be ${only}` : `must be one of ${[only, ...others].join(", ")}`
  const own = ast.checks?.at(-1)?.annotations?.message
  return typeof own === "string" ? own : TYPES[ast._tag]
}

const detailOf = (issue: SchemaIssue.Issue): string | undefined => {
  switch (issue._tag) {
    case "MissingKey":
      return "is required"
    case "InvalidType":
    case "AnyOf":
      return wantedBy(issue.ast)
    // Every check of a request has a message of its own.
    case "Filter":
      return format(issue).issues[0]?.message
    default:
      return undefined
  }
}

const UNKNOWN_MEMBER = { code: "unknown_member", detail: "is not a member of this request" }

const unknownMember = (path: ReadonlyArray<PropertyKey>): MemberFault =>
  String(path.at(-1)).length <= REPEATED_NAME_MAX_UNITS
    ? { pointer: jsonPointer(path), ...UNKNOWN_MEMBER }
    : {
        pointer: jsonPointer(path.slice(0, -1)),
        code: UNKNOWN_MEMBER.code,
        detail: "has a member with a long name that is not a member of this request"
      }

const CODES: Readonly<Record<string, string>> = { MissingKey: "required", InvalidType: "invalid_type" }

const faultOf = ({ path, issue }: Leaf): MemberFault => {
  if (issue._tag === "UnexpectedKey") return unknownMember(path)
  return {
    pointer: jsonPointer(path),
    code: CODES[issue._tag] ?? "invalid_value",
    detail: detailOf(issue) ?? "is not valid"
  }
}

interface Leaf {
  readonly path: ReadonlyArray<PropertyKey>
  readonly issue: SchemaIssue.Issue
}

// A check is a leaf although it wraps an issue, which has no path of its own.
const leavesOf = (issue: SchemaIssue.Issue, path: ReadonlyArray<PropertyKey>): ReadonlyArray<Leaf> => {
  switch (issue._tag) {
    case "Pointer":
      return leavesOf(issue.issue, [...path, ...issue.path])
    case "Encoding":
      return leavesOf(issue.issue, path)
    case "Composite":
      return issue.issues.flatMap((child) => leavesOf(child, path))
    default:
      return [{ path, issue }]
  }
}

const NOT_AN_OBJECT: MemberFault = {
  pointer: "",
  code: "invalid_type",
  detail: "the body must be a JSON object"
}

/** The faults of a body that must be `{}` (part 1): one for each member that it has. */
export const emptyBodyFaults = (body: JsonValue): ReadonlyArray<MemberFault> =>
  isJsonObject(body) ? Object.keys(body).map((name) => unknownMember([name])) : [NOT_AN_OBJECT]

/**
 * Checks a JSON value against the schema of a request body: unknown members are refused, and there is one
 * fault per member, at most 100 (part 1). The value itself is returned, not a copy: request schemas
 * transform nothing, and a copy would lose a member named `__proto__`.
 */
export const decodeBody = <A>(schema: Schema.Decoder<A>) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (value: JsonValue): Result.Result<A, ReadonlyArray<MemberFault>> => {
    if (!isJsonObject(value)) return Result.fail([NOT_AN_OBJECT])
    const decoded = decode(value, { errors: "all", onExcessProperty: "error" })
    if (Result.isSuccess(decoded)) return Result.succeed(value as A)
    return Result.fail(leavesOf(decoded.failure.issue, []).slice(0, MAX_PROBLEM_ERRORS).map(faultOf))
  }
}
