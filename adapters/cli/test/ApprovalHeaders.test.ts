import { assert, describe, it } from "@effect/vitest"
import { APPROVAL_ASSETS } from "@svc/http-server/approval/ApprovalAssets"
import { makeBrowser, openHouse } from "@svc/http-server/test/ApprovalVisitor"
import { exchange, parseAnswer, type RawAnswer } from "@svc/http-server/test/RawExchange"
import { Effect } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { startService } from "./ServiceUnderTest.ts"

const NOW = Date.UTC(2026, 10, 28, 9)
const UNKNOWN = `/approve/${"A".repeat(43)}`
const TOO_LONG = 64 * 1024 + 1

const FIXED = {
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin"
}

/** What every answer of the approval origin has, whatever it is. */
const assertHeaders = (
  answer: RawAnswer,
  about: string,
  { cache = "no-store", secure = true }: { readonly cache?: string; readonly secure?: boolean } = {}
) => {
  const { headers } = answer
  for (const [name, value] of Object.entries(FIXED))
    assert.strictEqual(headers[name], value, `${about}: ${name}`)
  assert.strictEqual(headers["cache-control"], cache, about)
  assert.strictEqual(headers["strict-transport-security"], secure ? "max-age=31536000" : undefined, about)
  const policy = (headers["content-security-policy"] ?? "").split("; ")
  assert.includeMembers(
    policy,
    [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'"
    ],
    about
  )
  assert.notMatch(policy.join("; "), /unsafe|\*|data:|blob:|https?:/u, about)
  const features = (headers["permissions-policy"] ?? "").split(", ")
  assert.deepStrictEqual(
    features.filter((feature) => !feature.endsWith("=()")),
    ["publickey-credentials-create=(self)", "publickey-credentials-get=(self)"],
    about
  )
  assert.match(headers["x-request-id"] ?? "", /^[0-9a-f-]{36}$/u, about)
  for (const absent of ["server", "x-powered-by", "access-control-allow-origin", "location"]) {
    assert.isUndefined(headers[absent], `${about}: ${absent}`)
  }
}

/** Answers of every kind that there is, by what they are. */
const everyAnswer = Effect.gen(function* () {
  yield* TestClock.setTime(NOW)
  const service = yield* startService()
  const { tenant, watch } = service
  const mandate = yield* tenant.newMandate()
  const { path } = yield* tenant.openSession(mandate.id)
  const browser = service.newBrowser()
  const stranger = service.newBrowser()
  const answers: Array<readonly [expected: number, about: string, answer: RawAnswer]> = []
  const note = <E, R>(expected: number, about: string, request: Effect.Effect<RawAnswer, E, R>) =>
    Effect.map(request, (answer) => {
      answers.push([expected, about, answer])
      return answer
    })

  yield* note(200, "the page", service.request(path))
  yield* note(200, "HEAD of the page", service.request(path, { method: "HEAD" }))
  yield* note(409, "before the ceremony", browser.post(`${path}/decline`, {}))
  const first = JSON.parse((yield* note(200, "a ceremony", browser.post(`${path}/ceremony`, {}))).body)
  yield* note(409, "another browser", stranger.post(`${path}/ceremony`, {}))
  yield* note(422, "a malformed body", browser.post(`${path}/passkey`, {}))
  yield* note(400, "no JSON", browser.post(`${path}/passkey`, {}, { body: "{" }))
  yield* note(413, "a long body", browser.post(`${path}/passkey`, {}, { body: "x".repeat(TOO_LONG) }))
  yield* note(415, "text", browser.post(`${path}/passkey`, {}, { headers: { "content-type": "text/plain" } }))
  yield* note(406, "HTML wanted", browser.post(`${path}/passkey`, {}, { headers: { accept: "text/html" } }))
  yield* note(400, "a query", browser.post(`${path}/passkey?a=1`, {}))
  yield* note(403, "another origin", browser.post(`${path}/passkey`, {}, { headers: { origin: "null" } }))
  const created = browser.passkey.register(first.options)
  yield* note(201, "a passkey", browser.post(`${path}/passkey`, created))
  const { options } = yield* browser.ceremony(path)
  const forged = browser.passkey.authenticate(options, { crossOrigin: true })
  yield* note(422, "a refused passkey", browser.post(`${path}/approval`, forged))
  for (const fault of ["unavailable", "defect"] as const) {
    const status = fault === "unavailable" ? 503 : 500
    watch.fault = fault
    yield* note(status, `the page: ${fault}`, service.request(path, { headers: { accept: "text/html" } }))
    yield* note(
      status,
      `a program: ${fault}`,
      service.request(path, { headers: { accept: "application/json" } })
    )
    yield* note(status, `HEAD: ${fault}`, service.request(path, { method: "HEAD" }))
    yield* note(status, `an action: ${fault}`, browser.post(`${path}/approval`, {}))
    watch.fault = undefined
  }
  yield* note(200, "an approval", browser.approve(path))
  yield* note(410, "the page, closed", service.request(path))
  yield* note(410, "HEAD of it, closed", service.request(path, { method: "HEAD" }))
  yield* note(410, "an action, closed", browser.post(`${path}/approval`, {}))
  yield* note(410, "the page of nothing", service.request(UNKNOWN))
  const declined = yield* tenant.openSession((yield* tenant.newMandate()).id)
  yield* browser.ceremony(declined.path)
  yield* note(200, "a refusal of the mandate", browser.post(`${declined.path}/decline`, {}))
  for (const where of ["/", "/favicon.ico"]) {
    yield* note(200, where, service.request(where))
    yield* note(200, `HEAD of ${where}`, service.request(where, { method: "HEAD" }))
  }
  for (const where of ["/nothing", "/healthz", `${path}/`, "/assets/none.js"]) {
    yield* note(404, where, service.request(where))
    yield* note(404, `HEAD of ${where}`, service.request(where, { method: "HEAD" }))
  }
  for (const method of ["OPTIONS", "PUT", "DELETE", "PATCH", "POST"]) {
    yield* note(405, `${method} of the page`, service.request(path, { method }))
  }
  yield* note(405, "GET of an action", service.request(`${path}/ceremony`))
  yield* note(405, "OPTIONS of an asset", service.request(APPROVAL_ASSETS[0]!.path, { method: "OPTIONS" }))
  yield* note(400, "a bad escape", service.request("/approve/%ZZ"))
  yield* note(400, "no Host", service.request(path, { headers: { host: null } }))

  const raw = (text: string) =>
    Effect.map(
      Effect.promise(() => exchange(service.approvalPort, text)),
      parseAnswer
    )
  yield* note(400, "no HTTP", raw(`GET ${path} NOT-HTTP\r\n\r\n`))
  yield* note(431, "long headers", raw(`GET ${path} HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(17_000)}\r\n\r\n`))
  const expecting = "host: a\r\nexpect: a-miracle\r\nconnection: close"
  yield* note(417, "an expectation", raw(`GET ${path} HTTP/1.1\r\n${expecting}\r\n\r\n`))
  return { answers, service }
})

describe("headers of the approval origin (part 6)", () => {
  it.effect("are on every response and forbid caching", () =>
    Effect.gen(function* () {
      const { answers } = yield* everyAnswer
      for (const [expected, about, answer] of answers) {
        assert.strictEqual(answer.status, expected, `${about}: ${answer.body}`)
        assertHeaders(answer, `${expected}, ${about}`)
        if (/^HEAD/u.test(about)) assert.strictEqual(answer.body, "", about)
      }
      const statuses = new Set(answers.map(([status]) => status))
      const expected = [200, 201, 400, 403, 404, 405, 406, 409, 410, 413, 415, 417, 422, 431, 500, 503]
      assert.sameMembers([...statuses], expected)
      const allowed = answers.filter(([status]) => status === 405)
      for (const [, about, { headers }] of allowed) {
        assert.strictEqual(headers.allow, about.includes("action") ? "POST" : "GET, HEAD", about)
      }
      const retried = answers.filter(([status]) => status === 503)
      for (const [, about, { headers }] of retried) assert.strictEqual(headers["retry-after"], "1", about)
    })
  )

  it.effect("allow caching of assets alone", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const house = yield* openHouse()
      for (const { contentType, path } of APPROVAL_ASSETS) {
        for (const method of ["GET", "HEAD"]) {
          const answer = yield* house.request(path, { method })
          assert.deepStrictEqual([answer.status, answer.headers["content-type"]], [200, contentType])
          assertHeaders(answer, `${method} ${path}`, { cache: "public, max-age=31536000, immutable" })
        }
        assertHeaders(yield* house.request(path, { method: "POST" }), `POST ${path}`)
      }
    })
  )

  it.effect("demand HTTPS only over HTTPS", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const house = yield* openHouse({ approvalBaseUrl: "http://localhost:8081" })
      const { path } = yield* house.newSession((yield* house.newMandate()).id)
      const browser = makeBrowser(house)
      for (const [about, answer] of [
        ["the page", yield* house.request(path)],
        ["an action", yield* browser.post(`${path}/ceremony`, {})],
        ["nothing", yield* house.request("/nothing")],
        ["closed", yield* house.request(UNKNOWN)]
      ] as const) {
        assertHeaders(answer, about, { secure: false })
      }
    })
  )
})

describe("HEAD on the approval origin (part 6)", () => {
  it.effect("answers like GET and does not use up the token", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const house = yield* openHouse()
      const { path } = yield* house.newSession((yield* house.newMandate()).id)
      for (const [at, status] of [
        [path, 200],
        [UNKNOWN, 410],
        ["/approve/short", 410],
        [`${path}/ceremony`, 405],
        [`${path}/`, 404],
        ["/approve/%ZZ", 400]
      ] as const) {
        const [head, get] = [yield* house.request(at, { method: "HEAD" }), yield* house.request(at)]
        const { "x-request-id": _, date: _date, ...headers } = head.headers
        const { "x-request-id": __, date: __date, ...expected } = get.headers
        assert.deepStrictEqual([head.status, head.body], [status, ""], at)
        if (status === 200 || status === 410) assert.deepStrictEqual(headers, expected, at)
      }
      const browser = makeBrowser(house)
      yield* browser.register(path)
      assert.strictEqual((yield* browser.approve(path)).status, 200)
    })
  )
})

describe("paths of the approval origin", () => {
  it.effect("decode a token exactly once", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const house = yield* openHouse()
      const { path, token } = yield* house.newSession((yield* house.newMandate()).id)
      const escaped = (text: string) =>
        [...text].map((character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`).join("")
      const statusOf = Effect.fnUntraced(function* (at: string, method = "GET") {
        return (yield* house.request(at, { method })).status
      })
      assert.strictEqual(yield* statusOf(`/approve/${escaped(token)}`), 200)
      assert.strictEqual(yield* statusOf(`/approve/${escaped(token[0]!)}${token.slice(1)}`), 200)
      const twice = escaped(token[0]!).replace("%", "%25") + token.slice(1)
      for (const at of [
        `/approve/${twice}`,
        `/approve/${escaped(token).replaceAll("%", "%25")}`,
        `${path}%00`,
        `${path}%20`,
        `${path}%0A`,
        `${path};x`,
        `${path}%3Fa`,
        `${path}%2F`,
        `${path}%2Fceremony`,
        `${path}%252Fceremony`,
        `${path}=`,
        `/approve/${token.toLowerCase()}`.replace(token.toLowerCase(), token.slice(0, -1))
      ]) {
        assert.strictEqual(yield* statusOf(at), 410, at)
      }
      for (const at of [
        `${path}/`,
        `${path}//ceremony`,
        `//approve/${token}`,
        `/approve//${token}`,
        `/./approve/${token}`,
        `/approve/../approve/${token}`,
        `/approve%2F${token}`,
        `/%61pprove/${token}/x`,
        `/APPROVE/${token}`,
        `${path}/ceremony/`,
        `${path}/Ceremony`
      ]) {
        assert.strictEqual(yield* statusOf(at), 404, at)
        assert.strictEqual(yield* statusOf(at, "POST"), 404, at)
      }
      const log = house.log.join("\n")
      for (const form of [token, escaped(token), twice]) assert.notInclude(log, form)
    })
  )
})
