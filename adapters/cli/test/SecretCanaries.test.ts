import { assert, describe, it } from "@effect/vitest"
import { RequestSpans } from "@svc/http-server/http/RequestSpan"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { PROBLEM_MEDIA_TYPE } from "@svc/protocol/Problem"
import * as PgliteStore from "@svc/store-postgres/PgliteStore"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { type Misbehaviour, makeSoftwarePasskey, type SoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { Effect, Layer, Metric } from "effect"
import { Reactivity } from "effect/reactivity"
import { afterEach, beforeEach, vi } from "vitest"
import type { StoreSetting } from "../src/config/StoreSetting.ts"
import { makeMetering } from "../src/start/Metering.ts"
import { Canaries } from "./Canaries.ts"
import {
  APPROVAL_ORIGIN,
  bodyOf,
  drawCommitment,
  newKey,
  type Service,
  startService,
  type Tenant
} from "./ServiceUnderTest.ts"
import { tracerTo } from "./SpanTexts.ts"
import { readAnswers, talk } from "./WireExchange.ts"

/** Everything that the process prints, whoever prints it. */
let printed: Array<string> = []

const CONSOLE_METHODS = ["log", "info", "warn", "error", "debug", "trace"] as const

beforeEach(() => {
  printed = []
  const note = (...parts: ReadonlyArray<unknown>) => void printed.push(parts.map(String).join(" "))
  for (const method of CONSOLE_METHODS) vi.spyOn(console, method).mockImplementation(note)
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((chunk) => {
      printed.push(String(chunk))
      return true
    })
  }
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** The parts of an assertion are as good as it, or tell who somebody is. */
const plantAssertion = (canaries: Canaries, what: string, assertion: string): string => {
  const [, claims, signature] = assertion.split(".")
  canaries.plant(`claims of the ${what}`, claims ?? "")
  canaries.plant(`signature of the ${what}`, signature ?? "")
  return canaries.plant(what, assertion)
}

const plantSession = (
  canaries: Canaries,
  session: Effect.Success<ReturnType<Tenant["openSession"]>>
): typeof session => {
  canaries.plant("approval token", session.token)
  canaries.plant("return_state", session.body.return_state)
  plantAssertion(canaries, "identity assertion", session.body.identity_assertion)
  return session
}

/** A passkey whose every answer is planted: what it gives goes to the service, and nowhere else. */
const plantedPasskey = (canaries: Canaries): SoftwarePasskey => {
  const passkey = makeSoftwarePasskey({ origin: APPROVAL_ORIGIN })
  const planted = <Answer extends { readonly id: string; readonly response: object }>(
    answer: Answer
  ): Answer => {
    canaries.plant("credential id", answer.id)
    for (const [member, value] of Object.entries(answer.response)) {
      if (typeof value === "string") canaries.plant(`passkey's ${member}`, value)
    }
    return answer
  }
  return {
    register: (...input) => planted(passkey.register(...input)),
    authenticate: (...input) => planted(passkey.authenticate(...input))
  }
}

const plantCookies = (canaries: Canaries, browser: ReturnType<Service["newBrowser"]>): void => {
  for (const value of browser.cookies.values()) canaries.plant("cookie value", value)
}

interface Story {
  readonly service: Service
  readonly canaries: Canaries
  readonly answers: Array<RawAnswer>
}

/** A whole lifecycle: approved with a passkey, allowed, committed, refunded, another one cancelled, one declined. */
const liveThrough = Effect.fnUntraced(function* ({ service, canaries, answers }: Story) {
  const { tenant } = service
  const mandate = yield* tenant.newMandate({
    kind: "RECURRING",
    policy: {
      currency: "EUR",
      max_amount: 5000,
      allowed_actions: ["card.create"],
      periods: [{ unit: "DAY", max_amount: 9000 }]
    }
  })
  const superseded = plantSession(canaries, yield* tenant.openSession(mandate.id))
  const session = plantSession(canaries, yield* tenant.openSession(mandate.id))
  const browser = service.newBrowser(plantedPasskey(canaries))
  answers.push(yield* service.request(session.path), yield* service.request(superseded.path))
  answers.push(yield* browser.register(session.path))
  plantCookies(canaries, browser)
  answers.push(yield* browser.approve(session.path))
  const committed = yield* tenant.propose(mandate.id, 4000)
  canaries.plant("opening that was committed", committed.opening)
  answers.push(yield* tenant.commit(committed))
  const cancelled = yield* tenant.propose(mandate.id, 4000)
  canaries.plant("opening that was cancelled", cancelled.opening)
  answers.push(yield* tenant.cancel(cancelled.id), yield* tenant.commit(cancelled))
  const open = yield* tenant.propose(mandate.id, 1000)
  canaries.plant("opening before its commit", open.opening)
  const denied = yield* tenant.propose(mandate.id, 4999)
  canaries.plant("opening of a refusal", denied.opening)
  answers.push(
    yield* tenant.write("POST", `/v1/authorizations/${committed.id}/refunds`, {
      amount: 100,
      currency: "EUR",
      provider_refund_reference: "refund-1",
      reported_refunded_at: committed.created_at
    }),
    yield* tenant.send({ path: `/v1/mandates/${mandate.id}/evidence` }),
    yield* tenant.send({ path: `/v1/mandates/${mandate.id}/events` })
  )
  const other = yield* tenant.newMandate({ subject_reference: "user_2" })
  const assertion = yield* tenant.assertionFor({ subject: "user_2" })
  const declined = plantSession(
    canaries,
    yield* tenant.openSession(other.id, { identity_assertion: assertion })
  )
  const decliner = service.newBrowser()
  yield* decliner.ceremony(declined.path)
  plantCookies(canaries, decliner)
  answers.push(yield* decliner.post(`${declined.path}/decline`, {}))
  return { mandate, session, committed, open }
})

type Life = Effect.Success<ReturnType<typeof liveThrough>>

/** Requests to the API that fail, each with secrets where they belong or where they do not. */
const failOnApi = Effect.fnUntraced(function* (story: Story, { committed, mandate, open, session }: Life) {
  const { service, canaries, answers } = story
  const { tenant } = service
  const pending = yield* tenant.newMandate()
  const sessions = `/v1/mandates/${pending.id}/approval-sessions`
  const live = canaries.plant("live key", tenant.key.replace("svc_test_", "svc_live_"))
  const wrong = drawCommitment().opening
  canaries.plant("opening that fits nothing", wrong)
  const { approval_url } = bodyOf(
    yield* tenant.write("POST", sessions, plantSessionBody(canaries, yield* tenant.sessionBody())),
    201
  )
  canaries.plant("approval URL", approval_url)
  const commit = `/v1/authorizations/${open.id}/commit`
  const commitBody = yield* tenant.commitBody(open.opening)
  for (const call of [
    { path: `/v1/mandates?api_key=${tenant.key}`, key: null },
    { path: `/v1/${tenant.key}` },
    { path: `/v1/mandates/${tenant.key}` },
    { path: `/v1/subjects/${encodeURIComponent(session.body.identity_assertion)}/passkeys` },
    { path: "/v1/mandates", key: live },
    { path: "/v1/mandates", key: `${tenant.key}x` },
    { path: "/v1/mandates", key: null, headers: { cookie: `key=${tenant.key}` } },
    { path: "/v1/mandates", key: null, headers: { authorization: `Basic ${tenant.key}` } },
    { path: "/v1/mandates", headers: { "x-api-key": tenant.key, accept: tenant.key } },
    { path: `/v1/mandates?cursor=${tenant.key}` },
    { path: `/v1/mandates?${tenant.key}=1` },
    { path: `/v1/mandates?subject_reference=${tenant.key}&limit=${tenant.key}` },
    { method: "PATCH", path: commit, body: commitBody },
    { method: "PUT", path: `${commit}?opening=${open.opening}`, body: commitBody },
    { method: "PUT", path: commit, body: commitBody },
    { method: "PUT", path: commit, idempotencyKey: `${open.opening} ${tenant.key}`, body: commitBody },
    { method: "PUT", path: commit, idempotencyKey: newKey(), body: { ...commitBody, extra: open.opening } },
    {
      method: "PUT",
      path: commit,
      idempotencyKey: newKey(),
      body: { ...commitBody, commitment_opening: wrong }
    },
    {
      method: "PUT",
      path: commit,
      idempotencyKey: newKey(),
      body: { ...commitBody, commitment_opening: `${open.opening}=` }
    },
    {
      method: "PUT",
      path: commit,
      idempotencyKey: newKey(),
      body: { ...commitBody, reported_accepted_at: open.opening }
    },
    { method: "PUT", path: commit, idempotencyKey: newKey(), body: `{"a":"${open.opening}","a":1}` },
    { method: "PUT", path: commit, idempotencyKey: newKey(), body: `{"${open.opening}` },
    {
      method: "PUT",
      path: `/v1/authorizations/${committed.id}/commit`,
      idempotencyKey: newKey(),
      body: yield* tenant.commitBody(committed.opening, { external_action_reference: "other" })
    },
    { method: "PUT", path: commit, headers: { "content-type": open.opening }, body: commitBody },
    { method: "PUT", path: commit, headers: { expect: open.opening }, body: commitBody },
    { path: `/v1/mandates/${mandate.id}/authorizations`, idempotencyKey: newKey(), body: commitBody }
  ]) {
    answers.push(yield* tenant.send(call))
  }
  for (const parts of [
    { identity_assertion: "not.a.token" },
    { identity_assertion: yield* tenant.assertionFor({ subject: "somebody else" }) },
    { identity_assertion: yield* tenant.assertionFor({ overrides: { claims: { aud: "other" } } }) },
    { identity_assertion: yield* tenant.assertionFor({ overrides: { claims: { exp: 1 } } }) },
    { identity_assertion: `${(yield* tenant.assertionFor()).slice(0, -4)}AAAA` },
    { identity_assertion: yield* service.other.assertionFor() },
    { identity_assertion: session.body.identity_assertion },
    { return_url: `https://evil.example/${session.token}` },
    { return_url: 7 },
    { return_state: "short" },
    { return_state: session.body.return_state.repeat(40) },
    { extra: session.body.return_state }
  ]) {
    const body = plantSessionBody(canaries, { ...(yield* tenant.sessionBody()), ...parts })
    answers.push(yield* tenant.write("POST", sessions, body))
  }
  answers.push(
    yield* tenant.write("POST", `/v1/mandates/${mandate.id}/approval-sessions`, yield* tenant.sessionBody()),
    yield* tenant.send({ path: "/v1/mandates", key: yield* tenant.makeKey({ scopes: [] }) })
  )
})

const plantSessionBody = <
  Body extends { readonly identity_assertion: string; readonly return_state: string }
>(
  canaries: Canaries,
  body: Body
): Body => {
  if (body.return_state !== "short") canaries.plant("return_state", body.return_state)
  if (body.identity_assertion !== "not.a.token") {
    plantAssertion(canaries, "identity assertion", body.identity_assertion)
  }
  return body
}

/** Requests to the approval origin that fail. */
const failOnApproval = Effect.fnUntraced(function* (story: Story, life: Life) {
  const { service, canaries, answers } = story
  const { tenant } = service
  const fresh = yield* tenant.newMandate({ subject_reference: "user_3" })
  const identity_assertion = yield* tenant.assertionFor({ subject: "user_3" })
  const session = plantSession(canaries, yield* tenant.openSession(fresh.id, { identity_assertion }))
  const browser = service.newBrowser(plantedPasskey(canaries))
  const { path, token } = session
  answers.push(
    yield* browser.post(`${path}/decline`, {}),
    yield* browser.register(path),
    yield* service.newBrowser().post(`${path}/ceremony`, {}),
    yield* service.request(`${path}/`),
    yield* service.request(`${path}?token=${token}`),
    yield* service.request(`/${token}`),
    yield* service.request(`/approve/${token}/${token}`),
    yield* service.request(`/approve/${token}%ZZ`),
    yield* service.request(`/approve/%${token.charCodeAt(0).toString(16)}${token.slice(1)}`),
    yield* service.request(`${path};${token}`),
    yield* service.request(path.toUpperCase()),
    yield* service.request(path, { method: "HEAD" }),
    yield* service.request(path, { method: "DELETE" }),
    yield* service.request(path, { method: "OPTIONS" }),
    yield* service.request(`${path}/approval`),
    yield* service.request(path, {
      headers: { referer: `https://approve.example${path}`, "user-agent": token }
    }),
    yield* service.request(path, {
      headers: { "accept-language": token, "x-request-id": token, traceparent: token }
    }),
    yield* service.request(life.session.path),
    yield* browser.post(`${life.session.path}/approval`, {}),
    yield* browser.post(`${path}/ceremony?${token}`, {}),
    yield* browser.post(`${path}/ceremony`, {}, { headers: { origin: `https://${token}.example` } }),
    yield* browser.post(`${path}/ceremony`, {}, { headers: { "content-type": token } }),
    yield* browser.post(`${path}/ceremony`, {}, { headers: { accept: `text/${token}` } }),
    yield* browser.post(`${path}/ceremony`, {}, { body: `{"${token}` }),
    yield* browser.post(`${path}/ceremony`, {}, { body: `{"${token}":1,"${token}":1}` }),
    yield* browser.post(`${path}/ceremony`, { [token]: token }),
    yield* browser.post(`${path}/decline`, { [token]: token }),
    yield* browser.post(`${path}/approval`, { id: token }),
    yield* browser.post(`${path}/approval`, {}, { body: token.repeat(2000) })
  )
  plantCookies(canaries, browser)
  const [cookie] = browser.cookies.values()
  answers.push(
    yield* browser.post(`${path}/approval`, {}, { headers: { cookie: `other=${cookie}; ${cookie}` } }),
    yield* browser.post(`${path}/approval`, { [cookie ?? ""]: cookie }),
    yield* browser.post(`${path}/approval`, {}, { body: `{"${cookie}` })
  )
  for (const misbehaviour of [
    { origin: "https://a.example" },
    { origin: `https://${token}.example` },
    { type: "x" },
    { id: token },
    { challenge: token },
    { crossOrigin: true },
    { topOrigin: token },
    { userHandle: token },
    { rpId: "evil.example" },
    { flags: 1 },
    { clientDataJson: () => `{"${token}` },
    { signature: () => new Uint8Array(64) }
  ] satisfies ReadonlyArray<Misbehaviour>) {
    const { options } = yield* browser.ceremony(path)
    const answer = browser.passkey.authenticate(options, misbehaviour)
    answers.push(
      yield* browser.post(`${path}/approval`, answer),
      yield* browser.post(`${path}/approval`, { ...answer, id: `${answer.id}=` }),
      yield* browser.post(`${path}/passkey`, answer)
    )
  }
  yield* failAtEnrolment(story)
})

/** A passkey on trial that another session overtakes, one that is refused, and a session that may not enrol. */
const failAtEnrolment = Effect.fnUntraced(function* ({ service, canaries, answers }: Story) {
  const { tenant } = service
  const subject = "user_4"
  const open = Effect.fnUntraced(function* (parts: Partial<Parameters<Tenant["assertionFor"]>[0]> = {}) {
    const mandate = yield* tenant.newMandate({ subject_reference: subject })
    const identity_assertion = yield* tenant.assertionFor({ subject, ...parts })
    return plantSession(canaries, yield* tenant.openSession(mandate.id, { identity_assertion }))
  })
  const [one, two] = [yield* open(), yield* open()]
  const browsers = [one, two].map(() => service.newBrowser(plantedPasskey(canaries)))
  const [first, second] = [browsers[0]!, browsers[1]!]
  const { options: creation } = yield* first.ceremony(one.path)
  const refused = first.passkey.register(creation, { origin: "https://evil.example" })
  answers.push(yield* first.post(`${one.path}/passkey`, refused), yield* first.register(one.path))
  const { options } = yield* first.ceremony(one.path)
  answers.push(
    yield* second.register(two.path),
    yield* second.approve(two.path),
    yield* first.post(`${one.path}/approval`, first.passkey.authenticate(options)),
    yield* first.post(`${one.path}/passkey`, first.passkey.register(creation))
  )
  for (const browser of browsers) plantCookies(canaries, browser)
  const passkeys = yield* tenant.get(`/v1/subjects/${subject}/passkeys`)
  const path = `/v1/subjects/${subject}/passkeys/${passkeys.data[0].id}`
  answers.push(yield* tenant.send({ method: "DELETE", path }), yield* first.post(`${one.path}/ceremony`, {}))
  const mandate = yield* tenant.newMandate({ subject_reference: subject })
  const identity_assertion = yield* tenant.assertionFor({ subject })
  const body = plantSessionBody(canaries, yield* tenant.sessionBody({ identity_assertion }))
  answers.push(yield* tenant.write("POST", `/v1/mandates/${mandate.id}/approval-sessions`, body))
})

/** What is refused below the routes, and when the store fails. */
const failBelow = Effect.fnUntraced(function* ({ service, answers }: Story, { open, session }: Life) {
  const { tenant, watch } = service
  const cookie = `Cookie: a=${session.token}`
  for (const [port, text] of [
    [service.apiPort, `GET /${tenant.key} HTTP/9.9\r\n\r\n`],
    [service.apiPort, `${tenant.key} / HTTP/1.1\r\n\r\n`],
    [service.apiPort, `GET / HTTP/1.1\r\nAuthorization ${tenant.key}\r\n\r\n`],
    [service.apiPort, `GET / HTTP/1.1\r\nX: ${tenant.key.repeat(400)}\r\n\r\n`],
    [
      service.apiPort,
      `GET /${open.opening} HTTP/1.1\r\nExpect: ${open.opening}\r\nConnection: close\r\n\r\n`
    ],
    [service.approvalPort, `GET ${session.path} HTTP/9.9\r\n\r\n`],
    [service.approvalPort, `GET ${session.path}\r\n\r\n`],
    [service.approvalPort, `CONNECT ${session.token}:443 HTTP/1.1\r\nHost: a\r\n\r\n`],
    [service.approvalPort, `GET ${session.path} HTTP/1.1\r\n${cookie}\r\nConnection: close\r\n\r\n`],
    [service.approvalPort, `GET ${session.path}/${session.token.repeat(500)} HTTP/1.1\r\nHost: a\r\n\r\n`]
  ] as const) {
    const wire = { bytes: [Buffer.from(text)], halfClose: false }
    const { received } = yield* Effect.promise(() => talk(port, wire))
    answers.push(...readAnswers(received, ["GET"]))
  }
  for (const fault of ["unavailable", "defect"] as const) {
    watch.fault = fault
    const body = yield* tenant.commitBody(open.opening)
    answers.push(
      yield* tenant.send({ path: `/v1/authorizations/${open.id}` }),
      yield* tenant.write("PUT", `/v1/authorizations/${open.id}/commit`, body),
      yield* service.request(session.path),
      yield* service.newBrowser().post(`${session.path}/ceremony`, {})
    )
    watch.fault = undefined
  }
})

const tellStory = Effect.fnUntraced(function* (store: StoreSetting = "memory") {
  const spans: Array<string> = []
  const metering = makeMetering()
  const service = yield* startService({
    observing: Layer.merge(tracerTo(spans), Layer.succeed(RequestSpans)(true)),
    store,
    instruments: metering
  })
  const canaries = new Canaries()
  const { other, tenant } = service
  canaries.plant("API key", tenant.key)
  canaries.plant("API key of another organization", other.key)
  canaries.plant("secret part of the API key", tenant.key.slice("svc_test_".length))
  canaries.plant("identity private key", tenant.issuer.privateJwk.d)
  canaries.plant("identity private key", other.issuer.privateJwk.d)
  canaries.plantBytes("master key", service.masterKey)
  const story: Story = { service, canaries, answers: [] }
  const life = yield* liveThrough(story)
  yield* failOnApi(story, life)
  yield* failOnApproval(story, life)
  yield* failBelow(story, life)
  return { ...story, life, spans, metrics: metering.families.exposition() }
})

/** The story on the memory store, and all that was printed meanwhile: told once, for each test that looks at it. */
let memoryStory:
  | Promise<Effect.Success<ReturnType<typeof tellStory>> & { readonly output: ReadonlyArray<string> }>
  | undefined

const toldOnce = Effect.promise(() => {
  memoryStory ??= Effect.runPromise(
    Effect.scoped(Effect.map(tellStory(), (story) => ({ ...story, output: printed })))
  )
  return memoryStory
})

const problemsOf = (answers: ReadonlyArray<RawAnswer>) =>
  answers.filter(({ headers }) => headers["content-type"] === PROBLEM_MEDIA_TYPE)

describe("secrets (part 9)", () => {
  it.live("appear in no log line, span, problem or header, in any encoding", () =>
    Effect.gen(function* () {
      const { answers, canaries, metrics, output, service, spans } = yield* toldOnce
      const problems = problemsOf(answers)
      const codes = new Set(problems.map(({ body }) => JSON.parse(body).code as string))
      assert.includeMembers([...codes], EXPECTED_CODES)
      for (const { body, status } of problems) assert.deepStrictEqual(canaries.foundIn(body), [], `${status}`)
      for (const { headers } of answers) {
        const { "set-cookie": _, ...others } = headers
        assert.deepStrictEqual(canaries.foundIn(JSON.stringify(others)), [])
      }
      assert.isAbove(service.log.length, answers.length)
      for (const line of [...service.log, ...output]) assert.deepStrictEqual(canaries.foundIn(line), [], line)
      assert.deepStrictEqual(canaries.foundIn(yield* Metric.dump), [])
      assert.include(metrics, 'svc_reservations_total{step="committed"} 1')
      assert.deepStrictEqual(canaries.foundIn(metrics), [])
      assert.include(spans.join("\n"), "commitAuthorization")
      for (const span of spans) assert.deepStrictEqual(canaries.foundIn(span), [], span)
    })
  )

  it.live(
    "appear neither in statements nor in the rows of any table",
    () =>
      Effect.gen(function* () {
        const pglite = yield* preparedPglite
        const { canaries, problems, said } = yield* Effect.scoped(
          Effect.map(tellStory({ pglite }), ({ answers, canaries, service, spans }) => ({
            canaries,
            problems: problemsOf(answers).map(({ body }) => body),
            said: [...spans, ...service.log]
          }))
        )
        assert.include(said.join("\n"), "sql.")
        for (const text of [...said, ...printed, ...problems]) {
          assert.deepStrictEqual(canaries.foundIn(text), [], text)
        }
        const rows = yield* everyRowOf(pglite)
        for (const table of ["approval_session", "subject", "claim", "event"]) {
          assert.isTrue(rows.has(table), `${table} is one of ${[...rows.keys()].join(", ")}`)
        }
        const kept = new Set<string>()
        for (const [table, texts] of rows) {
          for (const text of texts) {
            const found = canaries.foundIn(text).filter((what) => !KEPT.some((allowed) => allowed.test(what)))
            assert.deepStrictEqual(found, [], `${table}: ${text}`)
            for (const what of canaries.foundIn(text)) kept.add(what)
          }
        }
        // The permitted values are found, so the search works.
        assert.includeMembers([...kept], ["return_state", "credential id", "passkey's signature"])
      }),
    EMBEDDED_TIMEOUT_MS
  )

  it("would be found by the search of these tests", () => {
    const canaries = new Canaries()
    canaries.plant("a", "x y/z+secret")
    canaries.plantBytes("b", new Uint8Array(32))
    assert.deepStrictEqual(canaries.foundIn("... x%20y%2Fz%2Bsecret"), ["a"])
    assert.deepStrictEqual(canaries.foundIn(`"${encodeBase64Url(new Uint8Array(32))}"`), ["b"])
    assert.deepStrictEqual(canaries.foundIn("nothing"), [])
  })
})

/** A whole story on an embedded database, on a machine that has other things to do, in milliseconds. */
const EMBEDDED_TIMEOUT_MS = 120_000

/** What the tables do hold: where to return to, the proof of an approval, and openings once they were revealed. */
const KEPT = [
  /^return_state$/u,
  /^credential id$/u,
  /^passkey's /u,
  /^opening that was (committed|cancelled)$/u
]

/** Every row of every table, as text, by table. */
const everyRowOf = (folder: string) =>
  Effect.gen(function* () {
    const { reads: sql } = yield* PgliteStore.connect({ folder })
    const tables = yield* sql<{ readonly schema: string; readonly name: string }>`
      SELECT table_schema AS schema, table_name AS name FROM information_schema.tables
      WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`
    const rows = new Map<string, ReadonlyArray<string>>()
    for (const { name, schema } of tables) {
      const found = yield* sql<{ readonly row: string }>`
        SELECT row_to_json(t)::text AS row FROM ${sql(`${schema}.${name}`)} AS t`
      rows.set(
        name,
        found.map(({ row }) => row)
      )
    }
    return rows
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))

/** Each stands for a kind of failure that the story has. */
const EXPECTED_CODES = [
  "malformed_request",
  "malformed_json",
  "invalid_cursor",
  "idempotency_key_required",
  "idempotency_key_invalid",
  "authentication_required",
  "api_key_invalid",
  "scope_insufficient",
  "origin_not_allowed",
  "not_found",
  "method_not_allowed",
  "not_acceptable",
  "terminal_state_conflict",
  "state_conflict",
  "assertion_replayed",
  "enrolment_not_allowed",
  "payload_too_large",
  "approval_session_bound",
  "approval_session_closed",
  "unsupported_media_type",
  "expectation_failed",
  "headers_too_large",
  "validation_failed",
  "commitment_mismatch",
  "identity_assertion_invalid",
  "subject_mismatch",
  "return_url_not_allowed",
  "passkey_verification_failed",
  "internal_error",
  "store_unavailable"
]

describe("log lines", () => {
  it.live("are JSON objects with the request and what is known of its subject", () =>
    Effect.gen(function* () {
      const { answers, life, service } = yield* toldOnce
      const lines = service.log.map((line) => JSON.parse(line) as Record<string, unknown>)
      const ids = new Set(lines.map((line) => line.request_id))
      for (const line of lines) {
        for (const name of ["time", "level", "message", "request_id"]) assert.isString(line[name], name)
      }
      for (const { headers } of answers) assert.isTrue(ids.has(headers["x-request-id"]), "no line for it")
      const about = lines.filter(
        ({ message, mandate_id }) => message === "request" && mandate_id === life.mandate.id
      )
      assert.isNotEmpty(about)
      for (const line of about) assert.strictEqual(line.organization_id, service.tenant.organization.id)
      const commits = lines.filter(({ authorization_id }) => authorization_id === life.committed.id)
      assert.isNotEmpty(commits)
      for (const line of commits) assert.strictEqual(line.organization_id, service.tenant.organization.id)
      const answered = lines.filter(({ status }) => status === 200 || status === 201)
      for (const line of answered.filter(({ route }) => String(route).startsWith("/v1/"))) {
        assert.strictEqual(line.organization_id, service.tenant.organization.id, JSON.stringify(line))
      }
      const faults = lines.filter(({ level }) => level === "error")
      assert.isNotEmpty(faults)
      for (const line of faults) assert.isString(line.route)
    })
  )
})
