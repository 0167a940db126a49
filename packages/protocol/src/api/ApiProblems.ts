import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { PROBLEM_MEDIA_TYPE, PROBLEMS, Problem, type ProblemCode } from "../Problem.ts"

/** Problems that any route may return, with or without an API key. */
const EVERYWHERE = [
  "malformed_request",
  "method_not_allowed",
  "not_acceptable",
  "request_timeout",
  "expectation_failed",
  "headers_too_large",
  "rate_limited",
  "internal_error",
  "store_unavailable"
] as const satisfies ReadonlyArray<ProblemCode>

const WITH_API_KEY = [
  ...EVERYWHERE,
  "authentication_required",
  "api_key_invalid",
  "scope_insufficient",
  "billing_account_required"
] as const satisfies ReadonlyArray<ProblemCode>

const WITH_BODY = [
  ...WITH_API_KEY,
  "malformed_json",
  "payload_too_large",
  "unsupported_media_type",
  "validation_failed"
] as const satisfies ReadonlyArray<ProblemCode>

const WITH_OPTIONAL_KEY = [
  ...WITH_BODY,
  "idempotency_key_invalid",
  "idempotency_key_reused"
] as const satisfies ReadonlyArray<ProblemCode>

const LIFECYCLE = [
  ...WITH_OPTIONAL_KEY,
  "idempotency_key_required"
] as const satisfies ReadonlyArray<ProblemCode>

/** The body of a problem of one status: which codes it may have there. */
const problemSchema = (status: number, codes: ReadonlyArray<ProblemCode>) =>
  Schema.Struct({ ...Problem.fields, code: Schema.Literals(codes) })
    .annotate({ description: codes.map((code) => `${code}: ${PROBLEMS[code].title}.`).join(" ") })
    .pipe(HttpApiSchema.status(status), HttpApiSchema.asJson({ contentType: PROBLEM_MEDIA_TYPE }))

const byStatus = (codes: ReadonlyArray<ProblemCode>) =>
  [...Map.groupBy(new Set(codes), (code) => PROBLEMS[code].status)]
    .toSorted(([first], [second]) => first - second)
    .map(([status, of]) => problemSchema(status, of))

/** Problems of a route without an API key. */
export const publicProblems = (...codes: ReadonlyArray<ProblemCode>) => byStatus([...EVERYWHERE, ...codes])

/** Problems of a read. */
export const readProblems = (...codes: ReadonlyArray<ProblemCode>) => byStatus([...WITH_API_KEY, ...codes])

/** Problems of a write that needs no idempotency key. */
export const writeProblems = (...codes: ReadonlyArray<ProblemCode>) => byStatus([...WITH_BODY, ...codes])

/** Problems of a write that honours an idempotency key and needs none. */
export const optionallyKeyedProblems = (...codes: ReadonlyArray<ProblemCode>) =>
  byStatus([...WITH_OPTIONAL_KEY, ...codes])

/** Problems of a lifecycle write. */
export const lifecycleProblems = (...codes: ReadonlyArray<ProblemCode>) => byStatus([...LIFECYCLE, ...codes])
