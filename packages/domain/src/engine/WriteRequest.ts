import { isIdentifier } from "@svc/protocol/Identifier"
import type { JsonValue } from "@svc/protocol/json/Json"
import type { MemberFault } from "@svc/protocol/Problem"
import { emptyBodyFaults } from "@svc/protocol/request/DecodeBody"
import { isIdempotencyKey } from "@svc/protocol/request/IdempotencyKey"
import { jsonOfBody, type RequestBody } from "@svc/protocol/request/RequestBody"
import { Effect, Result } from "effect"
import { type Organization, REPORT_GRACE_MAX_SECONDS } from "../organization/Organization.ts"
import { Deployment } from "../ports/Deployment.ts"
import {
  IdempotencyKeyInvalid,
  IdempotencyKeyRequired,
  OrganizationUnknown,
  ValidationFailed
} from "../Refusals.ts"
import { givenMembers, pathTexts } from "./GivenMembers.ts"

/** A write as a caller sends it. */
export interface WriteRequest {
  readonly organization: Organization
  /** 1 to 255 visible ASCII characters (part 3); empty when there is none, where a write may do without. */
  readonly idempotencyKey: string
  /** The JSON body, not yet checked against its schema. It is copied when the write begins, unless it was parsed from bytes. */
  readonly body: JsonValue | RequestBody
}

/** A write whose parts have been checked, apart from the body's schema. Nobody else holds them and could change them. */
export interface AdmittedWrite<Path extends string = never> {
  readonly organization: Pick<Organization, "id" | "reportGraceSeconds">
  /** Empty when there is none. */
  readonly idempotencyKey: string
  readonly body: JsonValue
  /** Identifiers in the path, which may be malformed. */
  readonly path: { readonly [P in Path]: string }
}

/** What a write asks of its request. */
export interface WriteRule {
  readonly idempotencyKey: "required" | "optional"
  /** `empty`: the body has no members. */
  readonly body: "members" | "empty"
}

/** A lifecycle write: a body with members, under an idempotency key. */
export const LIFECYCLE_WRITE: WriteRule = { idempotencyKey: "required", body: "members" }
/** A write without members that need not be told apart from its repetition. */
export const BARE_WRITE: WriteRule = { idempotencyKey: "optional", body: "empty" }

/** Why a write is refused before anything is looked up. */
export type WriteRefusal =
  | OrganizationUnknown
  | IdempotencyKeyRequired
  | IdempotencyKeyInvalid
  | ValidationFailed

/**
 * Checks what a caller gave for a write: organization, form of the idempotency key, JSON, in this order (part 2). Each part is
 * read once and the body copied, so that a later change of the request changes nothing. Every write begins with it.
 */
export const admitWrite = <const Path extends string = never>(
  request: WriteRequest & { readonly [P in Path]?: string | undefined },
  rule: WriteRule,
  path: ReadonlyArray<Path> = []
): Effect.Effect<AdmittedWrite<Path>, WriteRefusal, Deployment> =>
  Deployment.use(({ environment }): Effect.Effect<AdmittedWrite<Path>, WriteRefusal> => {
    const given = givenMembers<string>(request, ["organization", "idempotencyKey", "body", ...path])
    const organization = checkOrganization(given.organization, environment)
    if (Result.isFailure(organization)) return Effect.fail(organization.failure)
    const idempotencyKey = checkIdempotencyKey(given.idempotencyKey, rule)
    if (Result.isFailure(idempotencyKey)) return Effect.fail(idempotencyKey.failure)
    const body = checkBody(given.body, rule)
    if (Result.isFailure(body)) return Effect.fail(body.failure)
    return Effect.succeed({
      organization: organization.success,
      idempotencyKey: idempotencyKey.success,
      body: body.success,
      path: pathTexts(given, path)
    })
  })

const checkOrganization = (
  given: unknown,
  environment: Organization["environment"]
): Result.Result<AdmittedWrite["organization"], OrganizationUnknown | ValidationFailed> => {
  const organization = givenMembers(given, ["id", "environment", "reportGraceSeconds"])
  const { id, reportGraceSeconds } = organization
  if (typeof id !== "string" || !isIdentifier("org_", id) || organization.environment !== environment) {
    return Result.fail(new OrganizationUnknown())
  }
  return isReportGrace(reportGraceSeconds)
    ? Result.succeed({ id, reportGraceSeconds })
    : Result.fail(new ValidationFailed({ errors: [INVALID_GRACE] }))
}

const isReportGrace = (given: unknown): given is number =>
  typeof given === "number" && Number.isInteger(given) && given >= 0 && given <= REPORT_GRACE_MAX_SECONDS

const INVALID_GRACE: MemberFault = {
  pointer: "/organization/reportGraceSeconds",
  code: "invalid_value",
  detail: `must be an integer of 0 to ${REPORT_GRACE_MAX_SECONDS} seconds`
}

const checkIdempotencyKey = (
  given: unknown,
  { idempotencyKey: rule }: WriteRule
): Result.Result<string, IdempotencyKeyRequired | IdempotencyKeyInvalid> => {
  if (given === undefined || given === "") {
    return rule === "optional" ? Result.succeed("") : Result.fail(new IdempotencyKeyRequired())
  }
  return typeof given === "string" && isIdempotencyKey(given)
    ? Result.succeed(given)
    : Result.fail(new IdempotencyKeyInvalid())
}

const checkBody = (given: unknown, rule: WriteRule): Result.Result<JsonValue, ValidationFailed> => {
  const body = checkJson(given)
  if (Result.isFailure(body) || rule.body === "members") return body
  const errors = emptyBodyFaults(body.success)
  return errors.length === 0 ? body : Result.fail(new ValidationFailed({ errors }))
}

/** The JSON of a body, copied unless it was parsed from bytes, or every fault of it. */
export const checkJson = (given: unknown): Result.Result<JsonValue, ValidationFailed> =>
  Result.mapError(jsonOfBody(given), (errors) => new ValidationFailed({ errors }))

/** The resource in its current state, and whether an earlier request had made the write. */
export interface WriteResult<A> {
  readonly resource: A
  readonly replayed: boolean
}

/** A body that fits its schema, or every fault of it. */
export const validBody = <A>(
  decoded: Result.Result<A, ReadonlyArray<MemberFault>>
): Effect.Effect<A, ValidationFailed> =>
  Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(new ValidationFailed({ errors: decoded.failure }))
