import { assert } from "@effect/vitest"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"
import {
  MAX_PROBLEM_ERRORS,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  type ProblemCode,
  problemPath
} from "@svc/protocol/Problem"
import { API_BASE_URL } from "./ServiceUnderTest.ts"

const ALWAYS = ["type", "title", "status", "detail", "code", "request_id", "retryable"]
const SOMETIMES = ["instance", "errors", "current_state", "resource_id"]

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u

const isKnownCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code)

/** Members and headers that depend on what the problem is about (part 2). */
const assertKind = (problem: Problem, answer: RawAnswer): void => {
  const { code } = problem
  const isConflict = code === "state_conflict" || code === "terminal_state_conflict"
  assert.strictEqual(problem.current_state !== undefined, isConflict, "current_state")
  assert.strictEqual(problem.resource_id !== undefined, isConflict, "resource_id")
  assert.strictEqual(problem.errors !== undefined, code === "validation_failed", "errors")
  if (problem.status === 401) assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
  if (problem.status === 405) assert.match(answer.headers.allow ?? "", /^[A-Z]+(?:, [A-Z]+)*$/u)
  if (problem.status === 429 || problem.status === 503) {
    assert.match(answer.headers["retry-after"] ?? "", /^\d+$/u)
  }
}

const assertErrors = (errors: NonNullable<Problem["errors"]>): void => {
  assert.isAtLeast(errors.length, 1)
  assert.isAtMost(errors.length, MAX_PROBLEM_ERRORS)
  for (const error of errors) {
    assert.sameMembers(Object.keys(error), ["pointer", "code", "detail"])
    assert.match(error.pointer, /^(?:\/(?:[^~]|~[01])*)?$/su)
    assert.match(error.code, /^[a-z_]+$/u)
    assert.isAbove(error.detail.length, 0)
  }
}

/**
 * Asserts everything that part 2 says about a problem, whatever it is about: media type, members, a known code with
 * its status, the request id of the header, and an `instance` that is one of the templates.
 */
export const assertProblemContract = (answer: RawAnswer, templates: ReadonlySet<string>): Problem => {
  assert.strictEqual(answer.headers["content-type"], PROBLEM_MEDIA_TYPE, answer.body)
  assert.match(answer.headers["x-request-id"] ?? "", UUID)
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  const problem: Problem = JSON.parse(answer.body)
  const names = Object.keys(problem)
  assert.includeMembers(names, ALWAYS)
  assert.includeMembers([...ALWAYS, ...SOMETIMES], names)
  assert.isTrue(isKnownCode(problem.code), problem.code)
  const kind = PROBLEMS[problem.code]
  assert.deepStrictEqual(
    [problem.status, problem.title, problem.retryable],
    [kind.status, kind.title, kind.retryable]
  )
  assert.strictEqual(answer.status, problem.status)
  assert.strictEqual(problem.type, API_BASE_URL + problemPath(problem.code))
  assert.strictEqual(problem.request_id, answer.headers["x-request-id"])
  assert.isAbove(problem.detail.length, 0)
  if (problem.instance !== undefined) assert.isTrue(templates.has(problem.instance), problem.instance)
  if (problem.errors !== undefined) assertErrors(problem.errors)
  assertKind(problem, answer)
  return problem
}
