import { assert, describe, it } from "@effect/vitest"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { Effect } from "effect"
import * as TestClock from "effect/testing/TestClock"
import {
  API_BASE_URL,
  APPROVAL_ORIGIN,
  type Asking,
  type House,
  type HouseOptions,
  makeBrowser,
  openHouse,
  RETURN_STATE
} from "../../test/ApprovalVisitor.ts"
import { exchange, parseAnswer, type RawAnswer } from "../../test/RawExchange.ts"
import { APPROVAL_ASSETS } from "./ApprovalAssets.ts"
import { ENGLISH } from "./words/English.ts"
import { GERMAN } from "./words/German.ts"

const NOW = Date.UTC(2026, 10, 28, 9)
const UNKNOWN_TOKEN = "A".repeat(43)

/** A house at a fixed instant, and one mandate in it with an open session. */
const begin = Effect.fnUntraced(function* (options: HouseOptions = {}) {
  yield* TestClock.setTime(NOW)
  const house = yield* openHouse(options)
  const mandate = yield* house.newMandate()
  const session = yield* house.newSession(mandate.id)
  return { house, mandate, session, browser: makeBrowser(house) }
})

/** A problem of this code, with what every problem has. */
const assertProblem = (answer: RawAnswer, status: number, code: string, route?: string) => {
  assert.deepStrictEqual(
    [answer.status, answer.headers["content-type"]],
    [status, "application/problem+json"]
  )
  const problem = JSON.parse(answer.body)
  assert.strictEqual(problem.code, code)
  assert.strictEqual(problem.type, `${API_BASE_URL}/problems/${code.replaceAll("_", "-")}`)
  assert.strictEqual(problem.request_id, answer.headers["x-request-id"])
  if (route !== undefined) assert.strictEqual(problem.instance, route)
}

const assertLeft = (answer: RawAnswer, sessionId: string) => {
  assert.deepStrictEqual(
    [answer.status, JSON.parse(answer.body)],
    [
      200,
      {
        redirect_to: `https://shop.example/return?order=7&return_state=${RETURN_STATE}&approval_session_id=${sessionId}`
      }
    ]
  )
}

const ACTIONS = ["ceremony", "passkey", "approval", "decline"] as const

describe("an approval link (part 6)", () => {
  it.effect("works with an appended query, which its actions refuse", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      for (const query of ["utm_source=mail&fbclid=1", "%ZZ", "a=b?c=d", ""]) {
        assert.strictEqual((yield* house.request(`${session.path}?${query}`)).status, 200, query)
      }
      assertProblem(
        yield* browser.post(`${session.path}/ceremony?utm_source=mail`, {}),
        400,
        "malformed_request"
      )
    })
  )

  it.effect("is matched exactly, except for escapes in its token", () =>
    Effect.gen(function* () {
      const { house, session } = yield* begin()
      const { path } = session
      const escaped = `/approve/%${path.charCodeAt("/approve/".length).toString(16)}${path.slice("/approve/".length + 1)}`
      assert.strictEqual((yield* house.request(escaped)).status, 200)
      assert.strictEqual((yield* house.request(`http://other${path}`)).status, 200)
      for (const other of [
        path.replace("approve", "%61pprove"),
        path.replace("/approve/", "/approve%2F"),
        path.replace("/approve", "//approve"),
        path.replace("/approve", "/./approve"),
        path.replace("approve", "Approve"),
        `${path}/`,
        `${path}/../${path.split("/").at(-1)}`,
        `${path}/%63eremony`
      ]) {
        assertProblem(yield* house.request(other), 404, "not_found")
      }
    })
  )

  it.effect("that is invalid counts against the address, and a valid one keeps working", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin({ failures: { rate: 0.001, burst: 3 } })
      const unknown = `/approve/${UNKNOWN_TOKEN}`
      assert.strictEqual((yield* house.request(session.path)).status, 200)
      assert.strictEqual((yield* house.request(unknown)).status, 410)
      assert.strictEqual((yield* house.request("/approve/short")).status, 410)
      assertProblem(yield* browser.post(`${unknown}/ceremony`, {}), 410, "approval_session_closed")
      assertProblem(yield* house.request(unknown), 429, "rate_limited")
      assertProblem(yield* browser.post(`${unknown}/ceremony`, {}), 429, "rate_limited")
      const shown = yield* house.request(unknown, { headers: { accept: "text/html" } })
      assert.strictEqual(shown.status, 429)
      assert.include(shown.headers["content-type"], "text/html")
      assert.isDefined(shown.headers["retry-after"])
      assert.strictEqual((yield* house.request(session.path)).status, 200)
      assert.strictEqual((yield* browser.post(`${session.path}/ceremony`, {})).status, 200)
    })
  )
})

describe("an approval session (part 6)", () => {
  it.effect("enrols a passkey, approves, and uses up the token", () =>
    Effect.gen(function* () {
      const { browser, house, mandate, session } = yield* begin()
      const page = yield* house.request(session.path)
      assert.deepStrictEqual([page.status, page.headers["content-type"]], [200, "text/html; charset=utf-8"])
      assert.include(page.body, "At most €50.00")

      const first = yield* browser.ceremony(session.path)
      assert.deepStrictEqual(Object.keys(first), ["step", "options"])
      assert.strictEqual(first.step, "register")
      const registered = yield* browser.post(
        `${session.path}/passkey`,
        browser.passkey.register(first.options)
      )
      assert.strictEqual(registered.status, 201)
      assert.match(JSON.parse(registered.body).passkey_id, /^psk_[0-9a-z]{26}$/u)
      assert.strictEqual(yield* house.stateOf(mandate.id), "PENDING_APPROVAL")

      const second = yield* browser.ceremony(session.path)
      assert.deepStrictEqual(Object.keys(second), ["step", "options", "statement"])
      assert.strictEqual(second.step, "approve")
      for (const { label, value } of second.statement.display.lines) {
        assert.include(page.body, label)
        assert.include(page.body, value)
      }
      const assertion = browser.passkey.authenticate(second.options)
      const approved = yield* browser.post(`${session.path}/approval`, assertion)
      assertLeft(approved, session.id)
      assert.strictEqual(yield* house.stateOf(mandate.id), "ACTIVE")

      assertProblem(
        yield* browser.post(`${session.path}/approval`, assertion),
        410,
        "approval_session_closed",
        "/approve/{token}/approval"
      )
      assertProblem(yield* browser.post(`${session.path}/ceremony`, {}), 410, "approval_session_closed")
      assert.strictEqual((yield* house.request(session.path)).status, 410)
    })
  )

  it.effect("approves with the passkey of an earlier approval, and enrols no second one", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      yield* browser.register(session.path)
      assert.strictEqual((yield* browser.approve(session.path)).status, 200)

      const mandate = yield* house.newMandate()
      const next = yield* house.newSession(mandate.id)
      const { options, step } = yield* browser.ceremony(next.path)
      assert.strictEqual(step, "approve")
      assert.lengthOf(options.allowCredentials, 1)
      const other = makeSoftwarePasskey({ origin: house.origin })
      const created = other.register({
        ...options,
        rp: { id: options.rpId },
        user: { id: UNKNOWN_TOKEN },
        pubKeyCredParams: [{ alg: -7 }]
      })
      assertProblem(
        yield* browser.post(`${next.path}/passkey`, created),
        422,
        "enrolment_not_allowed",
        "/approve/{token}/passkey"
      )
      assertLeft(yield* browser.approve(next.path), next.id)
      assert.strictEqual(yield* house.stateOf(mandate.id), "ACTIVE")
    })
  )

  it.effect("declines, with an empty body or {}", () =>
    Effect.gen(function* () {
      const { browser, house, mandate, session } = yield* begin()
      yield* browser.ceremony(session.path)
      const headers = { "content-type": null }
      assertLeft(yield* browser.post(`${session.path}/decline`, {}, { body: "", headers }), session.id)
      assert.strictEqual(yield* house.stateOf(mandate.id), "REJECTED")

      const another = yield* house.newMandate()
      const next = yield* house.newSession(another.id)
      yield* browser.ceremony(next.path)
      assertLeft(yield* browser.post(`${next.path}/decline`, {}), next.id)
      assert.strictEqual(yield* house.stateOf(another.id), "REJECTED")
    })
  )

  it.effect("is not used up by opening the page", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      const bot = { "user-agent": "LinkPreviewBot/1.0", accept: "*/*" }
      const head = yield* house.request(session.path, { method: "HEAD", headers: bot })
      assert.deepStrictEqual([head.status, head.body], [200, ""])
      const looked = yield* house.request(`${session.path}?utm_source=mail`, { headers: bot })
      assert.strictEqual(looked.status, 200)
      assert.isUndefined(looked.headers["set-cookie"])
      yield* browser.register(session.path)
      assert.strictEqual((yield* browser.approve(session.path)).status, 200)
    })
  )
})

describe("the browser of an approval session (part 6)", () => {
  it.effect("is bound by the first ceremony with a cookie of its session", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      const answer = yield* browser.post(`${session.path}/ceremony`, {})
      const [name, value] = [...browser.cookies][0] ?? []
      assert.strictEqual(name, `__Host-svc_${session.id}`)
      assert.strictEqual(
        answer.headers["set-cookie"],
        `${name}=${value}; Path=/; Max-Age=3900; HttpOnly; Secure; SameSite=Strict`
      )
      const again = yield* browser.post(`${session.path}/ceremony`, {})
      assert.deepStrictEqual([again.status, again.headers["set-cookie"]], [200, undefined])
      assert.notInclude(house.log.join("\n"), value!)
    })
  )

  it.effect("is bound on localhost by a cookie without prefix and Secure", () =>
    Effect.gen(function* () {
      const { browser, session } = yield* begin({ approvalBaseUrl: "http://localhost:8081" })
      const answer = yield* browser.post(`${session.path}/ceremony`, {})
      assert.match(
        answer.headers["set-cookie"]!,
        new RegExp(`^svc_${session.id}=[\\w-]{43}; Path=/; Max-Age=3900; HttpOnly; SameSite=Strict$`, "u")
      )
      assert.isUndefined(answer.headers["strict-transport-security"])
    })
  )

  it.effect("must start the ceremony before any other action", () =>
    Effect.gen(function* () {
      const { browser, session } = yield* begin()
      for (const action of ["passkey", "approval", "decline"]) {
        assertProblem(
          yield* browser.post(`${session.path}/${action}`, {}),
          409,
          "approval_session_bound",
          `/approve/{token}/${action}`
        )
      }
      assert.strictEqual((yield* browser.ceremony(session.path)).step, "register")
    })
  )

  it.effect("must be the one that started the ceremony", () =>
    Effect.gen(function* () {
      const { browser, house, mandate, session } = yield* begin()
      yield* browser.ceremony(session.path)
      const [name, value] = [...browser.cookies][0]!
      const other = makeBrowser(house)
      const cookies = [
        null,
        `${name}=${UNKNOWN_TOKEN}`,
        `${name}=${value}; ${name}=${value}`,
        `${name.toLowerCase()}=${value}`
      ]
      for (const cookie of cookies) {
        for (const action of ACTIONS) {
          const answer = yield* other.post(`${session.path}/${action}`, {}, { headers: { cookie } })
          assertProblem(answer, 409, "approval_session_bound")
        }
      }
      assert.strictEqual((yield* house.request(session.path)).status, 200)
      assert.strictEqual(yield* house.stateOf(mandate.id), "PENDING_APPROVAL")
      yield* browser.register(session.path)
      assertLeft(yield* browser.approve(session.path), session.id)
    })
  )
})

describe("a closed link (part 6)", () => {
  /** The answer to every action; the page is told apart in words alone. */
  const assertClosed = Effect.fnUntraced(function* (house: House, path: string) {
    const browser = makeBrowser(house)
    const page = yield* house.request(path)
    assert.deepStrictEqual([page.status, page.headers["content-type"]], [410, "text/html; charset=utf-8"])
    const problems = new Set<string>()
    for (const action of ACTIONS) {
      const answer = yield* browser.post(`${path}/${action}`, {})
      assertProblem(answer, 410, "approval_session_closed")
      const { instance: _, request_id: __, ...problem } = JSON.parse(answer.body)
      problems.add(JSON.stringify(problem))
    }
    return { title: titleOf(page), problems: [...problems] }
  })

  const titleOf = (page: RawAnswer) => /<h1[^>]*>([^<]*)<\/h1>/u.exec(page.body)?.[1]

  it.effect(
    "gets the same problem whether unknown, malformed, superseded, expired or used, and a page with the cause",
    () =>
      Effect.gen(function* () {
        const { browser, house, mandate, session } = yield* begin()
        const { closed } = ENGLISH
        const problems = new Set<string>()
        const assertCause = Effect.fnUntraced(function* (path: string, cause: keyof typeof closed) {
          const answer = yield* assertClosed(house, path)
          assert.strictEqual(answer.title, closed[cause].title)
          for (const problem of answer.problems) problems.add(problem)
        })
        for (const token of [UNKNOWN_TOKEN, "short", `${UNKNOWN_TOKEN}A`, `${UNKNOWN_TOKEN.slice(1)}%2B`]) {
          yield* assertCause(`/approve/${token}`, "unknown")
        }
        const next = yield* house.newSession(mandate.id)
        yield* assertCause(session.path, "replaced")
        yield* browser.ceremony(next.path)
        yield* browser.post(`${next.path}/decline`, {})
        yield* assertCause(next.path, "used")

        const late = yield* house.newSession((yield* house.newMandate()).id)
        yield* TestClock.adjust("299 seconds")
        assert.strictEqual((yield* house.request(late.path)).status, 200)
        yield* TestClock.adjust("1 second")
        yield* assertCause(late.path, "expired")

        const revoked = yield* house.newMandate()
        const open = yield* house.newSession(revoked.id)
        yield* house.revoke(revoked.id)
        yield* assertCause(open.path, "withdrawn")
        assert.lengthOf([...problems], 1)
      })
  )

  it.effect("shows its decision to the bound browser, and only its use to others", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      yield* browser.register(session.path)
      yield* browser.approve(session.path)
      const [name, value] = [...browser.cookies][0]!
      const look = (headers: Asking["headers"] = {}) => house.request(session.path, { headers })
      const own = yield* look({ cookie: `${name}=${value}` })
      assert.deepStrictEqual([own.status, titleOf(own)], [410, ENGLISH.closed.approved.title])
      assert.include(own.body, `return_state=${RETURN_STATE}&amp;approval_session_id=${session.id}`)
      for (const cookie of [{}, { cookie: `${name}=${UNKNOWN_TOKEN}` }]) {
        const other = yield* look(cookie)
        assert.deepStrictEqual([other.status, titleOf(other)], [410, ENGLISH.closed.used.title])
        assert.notInclude(other.body, RETURN_STATE)
        assert.notInclude(other.body, "http-equiv")
        assert.deepStrictEqual(
          { ...other.headers, "x-request-id": "", "content-length": "", date: "" },
          { ...own.headers, "x-request-id": "", "content-length": "", date: "" }
        )
      }
      // A browser keeps the cookie back from where another site led it, and sends it when the page asks again.
      const led = yield* look({ "sec-fetch-site": "cross-site" })
      assert.include(led.body, '<meta http-equiv="refresh" content="0">')
      const asked = yield* look({ "sec-fetch-site": "cross-site", cookie: `${name}=${value}` })
      assert.notInclude(asked.body, "http-equiv")
    })
  )

  it.effect("links back for the bound browser until an hour after its end", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      const { headers } = yield* browser.post(`${session.path}/ceremony`, {})
      assert.include(headers["set-cookie"], "; Max-Age=3900;")
      yield* TestClock.adjust("5 minutes")
      const [name, value] = [...browser.cookies][0]!
      const own = yield* house.request(session.path, { headers: { cookie: `${name}=${value}` } })
      assert.strictEqual(titleOf(own), ENGLISH.closed.expired.title)
      assert.include(own.body, `return_state=${RETURN_STATE}`)
      const other = yield* house.request(session.path)
      assert.strictEqual(titleOf(other), ENGLISH.closed.expired.title)
      assert.notInclude(other.body, RETURN_STATE)
    })
  )

  it.effect("links back for everybody if no browser was bound", () =>
    Effect.gen(function* () {
      const { house, session } = yield* begin()
      yield* TestClock.adjust("5 minutes")
      assert.include((yield* house.request(session.path)).body, `return_state=${RETURN_STATE}`)
    })
  )
})

describe("GET / on the approval origin (part 6)", () => {
  it.effect("explains the site in the language of the browser", () =>
    Effect.gen(function* () {
      const { house } = yield* begin()
      const english = yield* house.request("/")
      assert.deepStrictEqual(
        [english.status, english.headers["content-type"]],
        [200, "text/html; charset=utf-8"]
      )
      assert.include(english.body, ENGLISH.home.text)
      const german = yield* house.request("/", { headers: { "accept-language": "de" } })
      assert.include(german.body, GERMAN.home.text)
      assert.strictEqual(german.headers["content-language"], "de")
      const icon = yield* house.request("/favicon.ico")
      assert.deepStrictEqual([icon.status, icon.headers["content-type"]], [200, "image/svg+xml"])
      assertProblem(yield* house.request("/", { method: "POST" }), 405, "method_not_allowed")
      assertProblem(yield* house.request("/approve"), 404, "not_found")
    })
  )
})

describe("a failed action (part 6)", () => {
  it.effect("uses up nothing when the body is malformed", () =>
    Effect.gen(function* () {
      const { browser, session } = yield* begin()
      const { options } = yield* browser.ceremony(session.path)
      const created = browser.passkey.register(options)
      const { response } = created
      const malformed = [
        {},
        [],
        { ...created, type: "password" },
        { ...created, id: `${created.id}=` },
        { ...created, response: { ...response, attestationObject: "a+b/" } },
        { ...created, response: { ...response, clientDataJSON: undefined } }
      ]
      for (const body of malformed) {
        assertProblem(yield* browser.post(`${session.path}/passkey`, body), 422, "validation_failed")
      }
      for (const body of ["", "{", "\ufeff{}", '{"id":1,"id":1}', "{}{}"]) {
        assertProblem(yield* browser.post(`${session.path}/passkey`, {}, { body }), 400, "malformed_json")
      }
      const extra = { ...created, unknown: null, authenticatorAttachment: null }
      assert.strictEqual((yield* browser.post(`${session.path}/passkey`, extra)).status, 201)

      const { options: request } = yield* browser.ceremony(session.path)
      const assertion = browser.passkey.authenticate(request)
      for (const body of [{}, { ...assertion, response: { ...assertion.response, signature: "a" } }]) {
        assertProblem(yield* browser.post(`${session.path}/approval`, body), 422, "validation_failed")
      }
      assertLeft(yield* browser.post(`${session.path}/approval`, assertion), session.id)
    })
  )

  it.effect("is one with members where the body has none", () =>
    Effect.gen(function* () {
      const { browser, house, mandate, session } = yield* begin()
      yield* browser.ceremony(session.path)
      for (const action of ["ceremony", "decline"]) {
        for (const body of [{ a: 1 }, [], null, "x"]) {
          assertProblem(yield* browser.post(`${session.path}/${action}`, body), 422, "validation_failed")
        }
      }
      assert.strictEqual(yield* house.stateOf(mandate.id), "PENDING_APPROVAL")
    })
  )

  it.effect("uses up the challenge and leaves the mandate pending", () =>
    Effect.gen(function* () {
      const { browser, house, mandate, session } = yield* begin()
      yield* browser.register(session.path)
      const { options } = yield* browser.ceremony(session.path)
      const forged = browser.passkey.authenticate(options, { origin: "https://approve.example:8443" })
      const refused = yield* browser.post(`${session.path}/approval`, forged)
      assertProblem(refused, 422, "passkey_verification_failed")
      assert.notInclude(refused.body, ":8443")
      assert.strictEqual(yield* house.stateOf(mandate.id), "PENDING_APPROVAL")

      const honest = browser.passkey.authenticate(options)
      assertProblem(
        yield* browser.post(`${session.path}/approval`, honest),
        422,
        "passkey_verification_failed"
      )
      assertLeft(yield* browser.approve(session.path), session.id)
    })
  )

  it.effect("includes a response to a challenge that a new ceremony has replaced", () =>
    Effect.gen(function* () {
      const { browser, session } = yield* begin()
      yield* browser.register(session.path)
      const { options } = yield* browser.ceremony(session.path)
      yield* browser.ceremony(session.path)
      const stale = browser.passkey.authenticate(options)
      assertProblem(
        yield* browser.post(`${session.path}/approval`, stale),
        422,
        "passkey_verification_failed"
      )
    })
  )
})

describe("the approval origin with an unavailable store", () => {
  it.effect("answers browsers with a page and others with a problem, and uses up nothing", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      yield* house.failNext("load")
      const page = yield* house.request(session.path, { headers: { accept: "text/html,*/*;q=0.8" } })
      assert.deepStrictEqual(
        [page.status, page.headers["content-type"], page.headers["retry-after"]],
        [503, "text/html; charset=utf-8", "1"]
      )
      yield* house.failNext("load")
      assertProblem(yield* house.request(session.path), 503, "store_unavailable", "/approve/{token}")
      yield* house.failNext("append")
      const lost = yield* browser.post(`${session.path}/ceremony`, {})
      assertProblem(lost, 503, "store_unavailable", "/approve/{token}/ceremony")
      assert.isUndefined(lost.headers["set-cookie"])
      assert.strictEqual((yield* browser.ceremony(session.path)).step, "register")
      assert.notInclude(house.log.join("\n"), session.token)
    })
  )
})

describe("the order of checks (part 6)", () => {
  it.effect("is route, Origin, token, cookie, query, Accept, media type, size, JSON, schema", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      yield* browser.ceremony(session.path)
      const approval = `${session.path}/approval`
      const closed = `/approve/${UNKNOWN_TOKEN}/approval`
      const wrong = { accept: "text/html", "content-type": "text/plain" }
      const big = "x".repeat(65_537)
      const json = { "content-type": "application/json" }
      const ladder: ReadonlyArray<readonly [path: string, asking: Asking, status: number, code: string]> = [
        [`${approval}/`, { headers: { origin: null, ...wrong }, body: big }, 404, "not_found"],
        [closed, { headers: { origin: null, ...wrong }, body: big }, 403, "origin_not_allowed"],
        [closed, { headers: wrong, body: big }, 410, "approval_session_closed"],
        [approval, { headers: { ...wrong, cookie: null }, body: big }, 409, "approval_session_bound"],
        [`${approval}?a=b`, { headers: wrong, body: big }, 400, "malformed_request"],
        [approval, { headers: wrong, body: big }, 406, "not_acceptable"],
        [approval, { headers: { "content-type": "text/plain" }, body: big }, 415, "unsupported_media_type"],
        [approval, { headers: { ...json, "content-encoding": "gzip" } }, 415, "unsupported_media_type"],
        [approval, { headers: json, body: big }, 413, "payload_too_large"],
        [approval, { headers: json, body: '{"a":1' }, 400, "malformed_json"],
        [approval, { headers: json, body: '{"a":1}' }, 422, "validation_failed"]
      ]
      for (const [path, asking, status, code] of ladder) {
        assertProblem(yield* browser.post(path, {}, asking), status, code)
      }
      assertProblem(
        yield* browser.post(approval, {}, { method: "PUT", headers: { origin: null } }),
        405,
        "method_not_allowed"
      )
      assert.strictEqual((yield* house.request(session.path)).status, 200)
    })
  )

  it.effect("accepts the approval origin exactly", () =>
    Effect.gen(function* () {
      const { browser, session } = yield* begin()
      const others = [
        null,
        "null",
        "",
        "https://approve.example:443",
        "https://approve.example/",
        "https://APPROVE.example",
        "http://approve.example",
        "https://approve.example.evil.example",
        API_BASE_URL
      ]
      for (const origin of others) {
        for (const action of ACTIONS) {
          const answer = yield* browser.post(`${session.path}/${action}`, {}, { headers: { origin } })
          assertProblem(answer, 403, "origin_not_allowed", `/approve/{token}/${action}`)
        }
      }
      assert.strictEqual((yield* browser.post(`${session.path}/ceremony`, {})).status, 200)
    })
  )

  it.effect("starts with 404 and 405 for everything but the page, its actions and its assets", () =>
    Effect.gen(function* () {
      const { house, session } = yield* begin()
      const unknown = [
        "/index.html",
        "/v1/mandates",
        "/healthz",
        "/.well-known/jwks.json",
        "/docs",
        "/approve",
        "/approve/",
        "/approve//ceremony",
        `${session.path}/`,
        `/Approve/${session.token}`,
        `//approve/${session.token}`,
        "/assets/approve.js",
        "/assets/../approve.js"
      ]
      for (const path of unknown) assertProblem(yield* house.request(path), 404, "not_found")
      const notAllowed = yield* house.request(session.path, { method: "POST" })
      assertProblem(notAllowed, 405, "method_not_allowed", "/approve/{token}")
      assert.strictEqual(notAllowed.headers.allow, "GET, HEAD")
      const read = yield* house.request(`${session.path}/ceremony`)
      assertProblem(read, 405, "method_not_allowed", "/approve/{token}/ceremony")
      assert.strictEqual(read.headers.allow, "POST")
    })
  )
})

describe("headers of the approval origin (part 6)", () => {
  const EXPECTED = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "strict-transport-security": "max-age=31536000"
  }

  const assertHeaders = (answer: RawAnswer, more: Readonly<Record<string, string>> = {}) => {
    for (const [name, value] of Object.entries({ ...EXPECTED, ...more })) {
      assert.strictEqual(answer.headers[name], value, name)
    }
    const policy = answer.headers["content-security-policy"] ?? ""
    assert.include(policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert.include(policy, "form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
    assert.notInclude(policy, "unsafe")
    const features = (answer.headers["permissions-policy"] ?? "").split(", ")
    assert.deepStrictEqual(
      features.filter((feature) => !feature.endsWith("=()")),
      ["publickey-credentials-create=(self)", "publickey-credentials-get=(self)"]
    )
    assert.match(answer.headers["x-request-id"] ?? "", /^[0-9a-f-]{36}$/u)
  }

  it.effect("are on every response, also on those of Node itself", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      assertHeaders(yield* house.request(session.path))
      assertHeaders(yield* house.request(`/approve/${UNKNOWN_TOKEN}`))
      assertHeaders(yield* house.request("/nothing"))
      assertHeaders(yield* house.request(session.path, { method: "DELETE" }))
      assertHeaders(yield* browser.post(`${session.path}/ceremony`, {}))
      assertHeaders(yield* browser.post(`${session.path}/passkey`, {}))
      const raw = (bytes: string) =>
        Effect.map(
          Effect.promise(() => exchange(house.port, bytes)),
          parseAnswer
        )
      const garbage = yield* raw(`GET ${session.path} NOT-HTTP\r\n\r\n`)
      assertProblem(garbage, 400, "malformed_request")
      assertHeaders(garbage)
      const long = yield* raw(`GET ${session.path} HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(17_000)}\r\n\r\n`)
      assertProblem(long, 431, "headers_too_large")
      assertHeaders(long)
      const twice = yield* raw(
        `POST ${session.path}/ceremony HTTP/1.1\r\nhost: a\r\norigin: ${APPROVAL_ORIGIN}\r\norigin: ${APPROVAL_ORIGIN}\r\nconnection: close\r\n\r\n`
      )
      assertProblem(twice, 400, "malformed_request")
      assertHeaders(twice)
    })
  )

  it.effect("allow caching of assets, whose names change with their content", () =>
    Effect.gen(function* () {
      const { house, session } = yield* begin()
      const page = yield* house.request(session.path)
      for (const { contentType, path, text } of APPROVAL_ASSETS) {
        assert.include(page.body, `"${path}"`)
        const answer = yield* house.request(path)
        assert.deepStrictEqual([answer.status, answer.body], [200, text])
        assertHeaders(answer, {
          "cache-control": "public, max-age=31536000, immutable",
          "content-type": contentType
        })
        assert.strictEqual((yield* house.request(path, { method: "HEAD" })).status, 200)
      }
    })
  )
})

describe("secrets of the approval origin", () => {
  it.effect("appear in no log line and no answer", () =>
    Effect.gen(function* () {
      const { browser, house, session } = yield* begin()
      const answers = [
        yield* house.request(session.path),
        yield* house.request(`${session.path}/`),
        yield* house.request(session.path, { method: "PATCH" }),
        yield* house.request(session.path, { headers: { host: null } }),
        yield* browser.post(`${session.path}/ceremony`, {}, { body: "{" }),
        yield* browser.post(`${session.path}/ceremony`, {}, { headers: { origin: "https://x.example" } }),
        yield* browser.register(session.path)
      ]
      const { options } = yield* browser.ceremony(session.path)
      const forged = browser.passkey.authenticate(options, { challenge: UNKNOWN_TOKEN })
      answers.push(
        yield* browser.post(`${session.path}/approval`, forged),
        yield* browser.approve(session.path),
        yield* browser.approve(session.path).pipe(Effect.catchDefect(() => house.request(session.path)))
      )
      for (const answer of answers) {
        assert.notInclude(answer.body, session.token)
        assert.notInclude(JSON.stringify(answer.headers), session.token)
      }
      const log = house.log.join("\n")
      assert.include(log, "/approve/{token}/approval")
      assert.include(log, "passkey refused")
      for (const secret of [session.token, ...browser.cookies.values()]) assert.notInclude(log, secret)
    })
  )

  it.effect("show hostile text of a caller as text", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const house = yield* openHouse({ organizationName: "<b>Bank</b>\u202eknaB" })
      const mandate = yield* house.newMandate({ description: "</title><script>alert(1)</script>\u200b" })
      const page = yield* house.request((yield* house.newSession(mandate.id)).path)
      assert.include(page.body, "&lt;b&gt;Bank&lt;/b&gt;U+202EknaB")
      assert.include(page.body, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;U+200B")
      assert.notInclude(page.body, "<script>")
    })
  )
})
