import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { type HostileRequest, hostileRequest, render } from "./HostileRequest.ts"
import { makeWorld, type World } from "./HostileWorld.ts"
import { assertProblemContract } from "./ProblemContract.ts"
import type { RawAnswer } from "./RawExchange.ts"
import { EVERY_ROUTE } from "./RouteList.ts"
import { bodyOf, type Service, startService } from "./ServiceUnderTest.ts"
import { readAnswers, talk } from "./WireExchange.ts"

const RUNS = Number(process.env.FC_RUNS ?? 2000)
const seed = process.env.FC_SEED === undefined ? {} : { seed: Number(process.env.FC_SEED) }
const TIMEOUT_MS = 120_000

const TEMPLATES = new Set(EVERY_ROUTE.map(({ template }) => template))

/** Refusals that record something by their nature: a conflict is journaled, an attempt spends its challenge. */
const RECORDED = new Set(["terminal_state_conflict", "passkey_verification_failed"])

/** A link that is closed is told to a person in a page, not in a problem. */
const isClosedPage = (answer: RawAnswer): boolean =>
  answer.status === 410 && answer.headers["content-type"] === "text/html; charset=utf-8"

/** The code of a refusal, or its status where the answer has no body. */
const refusalOf = (answer: RawAnswer, method: string): string => {
  if (method === "HEAD") {
    assert.match(answer.headers["x-request-id"] ?? "", /^[0-9a-f-]{36}$/u)
    return String(answer.status)
  }
  if (isClosedPage(answer)) return "approval_session_closed"
  return assertProblemContract(answer, TEMPLATES).code
}

const assertAnswer = (answer: RawAnswer, method: string, world: World): string => {
  assert.isBelow(answer.status, 500, answer.body)
  assert.match(answer.headers["x-request-id"] ?? "", /^[0-9a-f-]{36}$/u)
  if (answer.status < 400) return String(answer.status)
  const whole = JSON.stringify(answer)
  for (const secret of world.secrets()) assert.notInclude(whole, secret)
  return refusalOf(answer, method)
}

/** Had the first request been read as another than it is, what follows would not be the one that was sent after it. */
const assertFollowers = (
  request: HostileRequest,
  answers: ReadonlyArray<RawAnswer>,
  world: World
): void => {
  assert.isAtMost(answers.length, 1)
  for (const answer of answers) {
    const outcome = assertAnswer(answer, "GET", world)
    const right = request.route.listener === "api" ? "200" : "not_found"
    assert.include([right, "malformed_request"], outcome)
    if (outcome === "200") assert.strictEqual(answer.body, '{"status":"ok"}')
  }
}

/** Sends one request and asserts what must hold whatever it was. Gives the refusal's code, or the status. */
const attack = Effect.fnUntraced(function* (service: Service, world: World, request: HostileRequest) {
  const { wire, methods, isAmbiguous } = yield* render(request, world)
  const { writes } = service.watch
  const before = writes.length
  const port = request.route.listener === "api" ? service.apiPort : service.approvalPort
  const { received } = yield* Effect.promise(() => talk(port, wire))
  const answers = readAnswers(received, methods)
  const [first, ...later] = answers
  if (first === undefined) throw new Error("there is no answer")
  const outcome = assertAnswer(first, methods[0]!, world)
  if (first.status >= 400 && !RECORDED.has(outcome)) {
    assert.deepStrictEqual(writes.slice(before), [], `${outcome} recorded something`)
  }
  if (isAmbiguous) assert.deepStrictEqual([first.status >= 400, later.length], [true, 0])
  assertFollowers(request, later, world)
  if (writes.length > before) yield* world.repair(request.route)
  return outcome
})

describe("hostile requests", () => {
  it.live(
    `${RUNS} of them, over every route, get sound answers and change nothing when refused`,
    () =>
      Effect.gen(function* () {
        const service = yield* startService()
        const world = yield* makeWorld(service)
        const outcomes = new Map<string, number>()
        const routes = new Set<string>()
        const property = fc.asyncProperty(hostileRequest, async (request) => {
          const t0=performance.now()
          const outcome = await Effect.runPromise(attack(service, world, request))
          const dt=performance.now()-t0; if (dt>100) console.log(dt|0, outcome, request.framing, request.body.form, request.method??request.route.method, request.route.template, request.lines.join().slice(0,40), request.path)
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
          routes.add(`${request.route.method} ${request.route.template}`)
        })
        yield* Effect.promise(() => fc.assert(property, { numRuns: RUNS, ...seed }))
        console.log(outcomes)
        assert.deepStrictEqual(
          service.log.filter((line) => line.includes('"level":"error"')),
          []
        )
        bodyOf(yield* service.tenant.write("POST", "/v1/mandates", yield* service.tenant.mandateBody()), 201)
      }),
    TIMEOUT_MS
  )
})
