import { Result, Schema, SchemaIssue } from "effect"
import { isJsonObject, type JsonValue } from "./Json.ts"
import { jsonPointer, REPEATED_NAME_MAX_UNITS } from "./JsonPointer.ts"
import { MAX_PROBLEM_ERRORS, type MemberFault } from "./Problem.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

interface FaultHook {
  readonly code: string
  readonly detail?: string
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

const LEAF: Readonly<Record<string, FaultHook>> = {
  MissingKey: { code: "required", detail: "is required" },
  InvalidType: { code: "invalid_type" },
  Filter: { code: "invalid_value" }
}

const faultOf = ({ path, issue }: Leaf): MemberFault => {
  if (issue._tag === "UnexpectedKey") return unknownMember(path)
  const hook = LEAF[issue._tag] ?? { code: "invalid_value" }
  const detail = hook.detail ?? format(issue).issues[0]?.message ?? "is not valid"
  return { pointer: jsonPointer(path), code: hook.code, detail }
}

interface Leaf {
  readonly path: ReadonlyArray<PropertyKey>
  readonly issue: SchemaIssue.Issue
}

// A check is a leaf although it wraps an issue: what it found has no path of its own.
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
