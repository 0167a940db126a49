import {
  causesOf,
  PROBLEM_CODES,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type ProblemCode,
  problemPath
} from "../Problem.ts"
import { problemHeaders } from "./ResponseHeaders.ts"

const pascalCase = (code: string): string =>
  code.replaceAll(/(?:^|_)([a-z])/gu, (_, letter: string) => letter.toUpperCase())

const EXAMPLE_ERRORS = [
  { pointer: "/policy/currency", code: "invalid_value", detail: "Must be a current ISO 4217 code." }
]

const EXAMPLE_CONFLICT = { current_state: "EXPIRED", resource_id: "aut_01kbcd2e3f4g5h6j7k8m9npqrs" }

const isConflict = (code: ProblemCode): boolean =>
  code === "state_conflict" || code === "terminal_state_conflict"

const exampleOf = (code: ProblemCode, baseUrl: string) => {
  const { cause, retryable, status, title } = PROBLEMS[code]
  return {
    type: baseUrl + problemPath(code),
    title,
    status,
    detail: cause,
    code,
    request_id: "0b5c1a52-9d3f-4b1e-8a77-3f1c2d4e5f60",
    retryable,
    ...(code === "validation_failed" ? { errors: EXAMPLE_ERRORS } : {}),
    ...(isConflict(code) ? EXAMPLE_CONFLICT : {})
  }
}

/** When a code is returned, what to do about it, and whether to repeat the request. */
const wordsOf = (code: ProblemCode): string => {
  const { remedy, retryable } = PROBLEMS[code]
  return `${causesOf(code)} ${remedy} ${retryable ? "Retryable." : "Not retryable unchanged."}`
}

const responseOf = (status: number, codes: ReadonlyArray<ProblemCode>) => ({
  description: codes.map((code) => `- \`${code}\`: ${wordsOf(code)}`).join("\n"),
  headers: problemHeaders(status),
  content: {
    [PROBLEM_MEDIA_TYPE]: {
      schema: {
        allOf: [
          { $ref: "#/components/schemas/Problem" },
          { type: "object", properties: { code: { type: "string", enum: codes } } }
        ]
      },
      examples: Object.fromEntries(
        codes.map((code) => [code, { $ref: `#/components/examples/${pascalCase(code)}` }])
      )
    }
  }
})

/** The response of an operation with a status: a component if it has one code only. */
export const problemAnswer = (status: number, codes: ReadonlyArray<ProblemCode>): object =>
  codes.length === 1 ? { $ref: `#/components/responses/${pascalCase(codes[0]!)}` } : responseOf(status, codes)

/** One response for each code that is the only one of its status somewhere. */
export const problemResponses = (codes: ReadonlyArray<ProblemCode>) =>
  Object.fromEntries(codes.map((code) => [pascalCase(code), responseOf(PROBLEMS[code].status, [code])]))

/** One example for each of these codes. */
export const problemExamples = (codes: ReadonlyArray<ProblemCode>, baseUrl: string) =>
  Object.fromEntries(
    codes.map((code) => [
      pascalCase(code),
      { summary: PROBLEMS[code].title, description: wordsOf(code), value: exampleOf(code, baseUrl) }
    ])
  )

/** Every code, when it is returned and what to do: the description of `Problem.code`. */
export const PROBLEM_CODE_WORDS = PROBLEM_CODES.map(
  (code) => `- \`${code}\` (${PROBLEMS[code].status}): ${wordsOf(code)}`
).join("\n")
