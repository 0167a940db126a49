import { assert, describe, it } from "@effect/vitest"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"
import { Effect } from "effect"
import * as fc from "fast-check"
import { type HostileRequest, hostileRequest, render } from "./HostileRequest.ts"
import { makeWorld, type World } from "./HostileWorld.ts"
import { assertProblemContract } from "./ProblemContract.ts"
import { EVERY_ROUTE } from "./RouteList.ts"
import { bodyOf, newKey, type Service, startService } from "./ServiceUnderTest.ts"
import { readAnswers, talk } from "./WireExchange.ts"

const RUNS = Number(process.env.FC_RUNS ?? 1200)
const seed = process.env.FC_SEED === undefined ? {} : { seed: Number(process.env.FC_SEED) }
/** From so many on, each route with resources is met. */
const ENOUGH_FOR_EVERY_ROUTE = 1500
const TIMEOUT_MS = 120_000

const TEMPLATES = new Set(EVERY_ROUTE.map(({ template }) => template))

const RESOURCES = EVERY_ROUTE.filter(({ kind }) => kind === "resources").map(
  ({ method, template }) => `${method} ${template}`
)

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
const assertFollowers = (request: HostileRequest, answers: ReadonlyArray<RawAnswer>, world: World): void => {
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

describe("the API under hostile requests", () => {
  it.live(
    `answers ${RUNS} of them, over every route, with valid responses, and changes nothing when it refuses`,
    () =>
      Effect.gen(function* () {
        const service = yield* startService()
        const world = yield* makeWorld(service)
        const outcomes = new Map<string, number>()
        const routes = new Set<string>()
        const property = fc.asyncProperty(hostileRequest, async (request) => {
          const outcome = await Effect.runPromise(attack(service, world, request))
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
          routes.add(`${request.route.method} ${request.route.template}`)
        })
        yield* Effect.promise(() => fc.assert(property, { numRuns: RUNS, ...seed }))
        assert.isAbove(outcomes.get("201") ?? 0, 0, "nothing got through")
        if (RUNS >= ENOUGH_FOR_EVERY_ROUTE) assert.includeMembers([...routes], RESOURCES)
        assert.deepStrictEqual(
          service.log.filter((line) => line.includes('"level":"error"')),
          []
        )
        bodyOf(yield* service.tenant.write("POST", "/v1/mandates", yield* service.tenant.mandateBody()), 201)
      }),
    TIMEOUT_MS
  )
})

describe("bytes after a request", () => {
  it.live("do not turn the answer to a recorded write into a refusal", () =>
    Effect.gen(function* () {
      const { apiPort, tenant, watch } = yield* startService()
      const body = JSON.stringify(yield* tenant.mandateBody())
      for (const behind of ["\u0001", "GET /healthz HTTP/1.1\r\nno colon\r\n\r\n"]) {
        const before = watch.writes.length
        const head = [
          "POST /v1/mandates HTTP/1.1",
          "Host: api.example",
          `Authorization: Bearer ${tenant.key}`,
          `Idempotency-Key: ${newKey()}`,
          "Content-Type: application/json",
          `Content-Length: ${body.length}`
        ].join("\r\n")
        const bytes = [Buffer.from(`${head}\r\n\r\n${body}${behind}`)]
        const { received } = yield* Effect.promise(() => talk(apiPort, { bytes, halfClose: false }))
        const answers = readAnswers(received, ["POST"])
        assert.deepStrictEqual(
          answers.map(({ status, headers }) => [status, headers.connection]),
          [[201, "close"]]
        )
        assert.deepStrictEqual(watch.writes.slice(before), ["mandate.created"])
      }
    })
  )

  it.live("are not ignored after an upgrade request: the connection is closed", () =>
    Effect.gen(function* () {
      const { apiPort } = yield* startService()
      const upgrade = "GET /healthz HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
      const bytes = [Buffer.from(`${upgrade}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`)]
      const { received } = yield* Effect.promise(() => talk(apiPort, { bytes, halfClose: false }))
      const answers = readAnswers(received, ["GET"])
      assert.deepStrictEqual(
        answers.map(({ status, headers }) => [status, headers.connection]),
        [[200, "close"]]
      )
    })
  )
})
