import { createPrivateKey, sign } from "node:crypto"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { openConnection, type RawAnswer } from "@svc/http-server/test/RawExchange"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { FLAG_USER_PRESENT } from "@svc/testkit/SoftwarePasskey"
import { Clock, Effect } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { KEYED_ROUTES, parametersOf, pathOf } from "./RouteList.ts"
import {
  bodyOf,
  newKey,
  RETURN_ORIGIN,
  type Service,
  SUBJECT,
  startService,
  type Tenant
} from "./ServiceUnderTest.ts"

/*
 * Faults that people reported in public of systems like this one, as inputs to this one, over HTTP. Each test has the
 * name of the report that it comes from.
 */

const NOW = Date.UTC(2026, 10, 28, 9)
const ABSENT = "00000000000000000000000000"

const begin = Effect.fnUntraced(function* (now = NOW) {
  yield* TestClock.setTime(now)
  return yield* startService()
})

const codeOf = (answer: RawAnswer, status: number): string => bodyOf(answer, status).code

/** A recurring policy with one period. */
const recurring = (period: object, policy: object = {}) => ({
  kind: "RECURRING",
  policy: {
    currency: "EUR",
    max_amount: 5000,
    allowed_actions: ["card.create"],
    periods: [{ unit: "MONTH", ...period }],
    ...policy
  }
})

const decisionsOf = (authorizations: ReadonlyArray<{ readonly decision: string }>) =>
  authorizations.map(({ decision }) => decision)

describe("Idempotency-Key (part 3)", () => {
  it.effect("20 at once with one key and body create one mandate (idempot-dev/idempot-js#181)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const body = yield* tenant.mandateBody()
      const requests = Array.from({ length: 20 }, () => tenant.write("POST", "/v1/mandates", body, "k"))
      const answers = yield* Effect.all(requests, { concurrency: "unbounded" })
      const ids = new Set(answers.map((answer) => bodyOf(answer, 201).id))
      assert.strictEqual(ids.size, 1)
      assert.lengthOf((yield* tenant.get("/v1/mandates")).data, 1)
      const first = answers.filter(({ headers }) => headers["idempotency-replayed"] === undefined)
      assert.lengthOf(first, 1)
    })
  )

  it.effect("one key and body of two organizations create two mandates (arun0009/idempotent#217)", () =>
    Effect.gen(function* () {
      const { tenant, other } = yield* begin()
      const body = yield* tenant.mandateBody()
      const ours = bodyOf(yield* tenant.write("POST", "/v1/mandates", body, "k"), 201)
      const theirs = yield* other.write("POST", "/v1/mandates", body, "k")
      assert.notStrictEqual(bodyOf(theirs, 201).id, ours.id)
      assert.notInclude(JSON.stringify(theirs), ours.id)
      assert.notProperty(theirs.headers, "idempotency-replayed")
    })
  )

  it.effect("an invalid body does not use up its key (ietf-wg-httpapi/idempotency#41)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const body = yield* tenant.mandateBody()
      const invalid = { ...body, kind: "TWICE" }
      assert.strictEqual(
        codeOf(yield* tenant.write("POST", "/v1/mandates", invalid, "k"), 422),
        "validation_failed"
      )
      assert.strictEqual(codeOf(yield* tenant.write("POST", "/v1/mandates", "{", "k"), 400), "malformed_json")
      const made = yield* tenant.write("POST", "/v1/mandates", body, "k")
      assert.strictEqual(made.status, 201)
      assert.notProperty(made.headers, "idempotency-replayed")
    })
  )

  it.effect("a write with a query is refused and writes nothing (facility#196)", () =>
    Effect.gen(function* () {
      const { tenant, watch } = yield* begin()
      const { id } = yield* tenant.newMandate()
      const writes = watch.writes.length
      for (const [method, path, body] of [
        ["POST", "/v1/mandates?x=1", yield* tenant.mandateBody()],
        ["PUT", `/v1/mandates/${id}/revocation?x=1`, { reason: "lost" }],
        ["POST", `/v1/mandates/${id}/authorizations?x=1`, tenant.proposalBody()]
      ] as const) {
        assert.strictEqual(codeOf(yield* tenant.write(method, path, body), 400), "malformed_request")
      }
      assert.strictEqual(watch.writes.length, writes)
    })
  )

  it.effect("an overlong, an empty and a blank key get one refusal (triggerdotdev/trigger.dev#3560)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const body = yield* tenant.mandateBody()
      for (const key of ["k".repeat(3000), "", "   "]) {
        assert.strictEqual(
          codeOf(yield* tenant.write("POST", "/v1/mandates", body, key), 400),
          "idempotency_key_invalid"
        )
      }
    })
  )

  it.effect('equal JSON in another spelling is a replay, and "0.10" is not "0.1" (julik/idempo#21)', () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const { id } = yield* tenant.newMandate()
      const path = `/v1/mandates/${id}/authorizations`
      const body = tenant.proposalBody({ external_reference: "a 0.1" })
      const first = bodyOf(yield* tenant.write("POST", path, body, "k"), 201)
      const reordered = Object.fromEntries(Object.entries(body).toReversed())
      for (const same of [
        JSON.stringify(reordered),
        JSON.stringify(body, null, 3),
        JSON.stringify(body).replace('"a 0.1"', '"\\u0061 0.1"'),
        JSON.stringify(body).replace('"amount":100', '"amount":1.0e2')
      ]) {
        const again = yield* tenant.write("POST", path, same, "k")
        assert.strictEqual(again.headers["idempotency-replayed"], "true", same)
        assert.deepStrictEqual(bodyOf(again, 201), first)
      }
      const other = { ...body, external_reference: "a 0.10" }
      assert.strictEqual(codeOf(yield* tenant.write("POST", path, other, "k"), 409), "idempotency_key_reused")
    })
  )

  it.effect("the order of members named U+FB33 and U+1F600 does not matter (rurban/Cpanel-JSON-XS#248)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const { id } = yield* tenant.newMandate()
      const path = `/v1/mandates/${id}/authorizations`
      const { proposed_action, ...rest } = tenant.proposalBody()
      const withNames = (names: ReadonlyArray<string>) => ({
        ...rest,
        proposed_action: {
          ...proposed_action,
          attributes: Object.fromEntries(names.map((name) => [name, "x"]))
        }
      })
      const names = ["\ufb33", "\u{1f600}"]
      const first = bodyOf(yield* tenant.write("POST", path, withNames(names), "k"), 201)
      const again = yield* tenant.write("POST", path, withNames(names.toReversed()), "k")
      assert.strictEqual(again.headers["idempotency-replayed"], "true")
      assert.strictEqual(bodyOf(again, 201).id, first.id)
      const read = yield* tenant.get(`/v1/authorizations/${first.id}`)
      assert.sameMembers(Object.keys(read.proposed_action.attributes), names)
    })
  )
})

describe("approval with a passkey (part 6)", () => {
  const pendingSession = Effect.fnUntraced(function* (service: Service) {
    const mandate = yield* service.tenant.newMandate()
    const session = yield* service.tenant.openSession(mandate.id)
    const state = Effect.map(service.tenant.get(`/v1/mandates/${mandate.id}`), (read) => read.state)
    return { ...session, state, browser: service.newBrowser() }
  })

  it.effect("client data of another port is refused (LanternOps/breeze#6499, kanidm/webauthn-rs#53)", () =>
    Effect.gen(function* () {
      const { browser, path, state } = yield* pendingSession(yield* begin())
      for (const origin of [
        "https://approve.example:8443",
        "http://approve.example",
        "https://approve.example."
      ]) {
        const { options } = yield* browser.ceremony(path)
        const created = yield* browser.post(`${path}/passkey`, browser.passkey.register(options, { origin }))
        assert.strictEqual(codeOf(created, 422), "passkey_verification_failed")
        assert.notInclude(created.body, origin)
      }
      bodyOf(yield* browser.register(path), 201)
      for (const origin of ["https://approve.example:8443", "https://approve.example/"]) {
        const { options } = yield* browser.ceremony(path)
        const forged = browser.passkey.authenticate(options, { origin })
        const refused = yield* browser.post(`${path}/approval`, forged)
        assert.strictEqual(codeOf(refused, 422), "passkey_verification_failed")
        assert.notInclude(refused.body, origin)
      }
      assert.strictEqual(yield* state, "PENDING_APPROVAL")
    })
  )

  it.effect("a signature counter that stays 0 is accepted twice (passwordless-id/webauthn#27)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      for (const _ of ["first", "second"]) {
        assert.strictEqual((yield* tenant.activeMandate()).state, "ACTIVE")
      }
    })
  )

  it.effect(
    "the user handle of an approval is the user id of the registration (MasterKale/SimpleWebAuthn#563, #666)",
    () =>
      Effect.gen(function* () {
        const { browser, path, state } = yield* pendingSession(yield* begin())
        const first = yield* browser.ceremony(path)
        bodyOf(yield* browser.post(`${path}/passkey`, browser.passkey.register(first.options)), 201)
        const { options } = yield* browser.ceremony(path)
        const assertion = browser.passkey.authenticate(options)
        assert.strictEqual(assertion.response.userHandle, first.options.user.id)
        assert.lengthOf(Buffer.from(first.options.user.id, "base64url"), 32)
        bodyOf(yield* browser.post(`${path}/approval`, assertion), 200)
        assert.strictEqual(yield* state, "ACTIVE")
      })
  )

  it.effect("registration and approval require user verification (MasterKale/SimpleWebAuthn#663)", () =>
    Effect.gen(function* () {
      const { browser, path, state } = yield* pendingSession(yield* begin())
      const attested = 0x40
      const first = yield* browser.ceremony(path)
      const unverified = browser.passkey.register(first.options, { flags: FLAG_USER_PRESENT | attested })
      assert.strictEqual(
        codeOf(yield* browser.post(`${path}/passkey`, unverified), 422),
        "passkey_verification_failed"
      )
      bodyOf(yield* browser.register(path), 201)
      const { options } = yield* browser.ceremony(path)
      const present = browser.passkey.authenticate(options, { flags: FLAG_USER_PRESENT })
      assert.strictEqual(
        codeOf(yield* browser.post(`${path}/approval`, present), 422),
        "passkey_verification_failed"
      )
      assert.strictEqual(yield* state, "PENDING_APPROVAL")
    })
  )

  it.effect("an invalid signature uses up its challenge (getkirby/kirby#8261)", () =>
    Effect.gen(function* () {
      const { browser, path, state } = yield* pendingSession(yield* begin())
      bodyOf(yield* browser.register(path), 201)
      const { options } = yield* browser.ceremony(path)
      const flipLast = (signature: Uint8Array) =>
        signature.map((byte, index) => (index === signature.length - 1 ? byte ^ 1 : byte))
      for (const misbehaviour of [{ signature: flipLast }, {}]) {
        const assertion = browser.passkey.authenticate(options, misbehaviour)
        assert.strictEqual(
          codeOf(yield* browser.post(`${path}/approval`, assertion), 422),
          "passkey_verification_failed"
        )
      }
      assert.strictEqual(yield* state, "PENDING_APPROVAL")
      bodyOf(yield* browser.approve(path), 200)
    })
  )

  it.effect(
    "a ceremony can be repeated after it was cancelled, and with options loaded before (statamic/cms#15212)",
    () =>
      Effect.gen(function* () {
        const { browser, path, state } = yield* pendingSession(yield* begin())
        yield* browser.ceremony(path)
        yield* browser.ceremony(path)
        bodyOf(yield* browser.register(path), 201)
        yield* browser.ceremony(path)
        const { options } = yield* browser.ceremony(path)
        yield* TestClock.adjust("4 minutes")
        bodyOf(yield* browser.post(`${path}/approval`, browser.passkey.authenticate(options)), 200)
        assert.strictEqual(yield* state, "ACTIVE")
      })
  )

  it.effect("foreign origins are refused (MasterKale/SimpleWebAuthn#759, authelia/authelia#12495)", () =>
    Effect.gen(function* () {
      const { browser, path, state } = yield* pendingSession(yield* begin())
      const faults = [
        { crossOrigin: true },
        { topOrigin: "https://shop.example" },
        { crossOrigin: "yes" },
        { origin: "android:apk-key-hash:pNiP5iKyQ8JwgGOaKA1zGPUPJIS-0H1xKCQcfIoGLck" },
        { origin: "" }
      ]
      const refusedAs = "passkey_verification_failed"
      for (const fault of faults) {
        const { options } = yield* browser.ceremony(path)
        const created = browser.passkey.register(options, fault)
        assert.strictEqual(codeOf(yield* browser.post(`${path}/passkey`, created), 422), refusedAs)
      }
      bodyOf(yield* browser.register(path), 201)
      for (const fault of faults) {
        const { options } = yield* browser.ceremony(path)
        const assertion = browser.passkey.authenticate(options, fault)
        assert.strictEqual(codeOf(yield* browser.post(`${path}/approval`, assertion), 422), refusedAs)
      }
      assert.strictEqual(yield* state, "PENDING_APPROVAL")
    })
  )
})

/** Sends a request and is gone before its answer. */
const sendAndLeave = (port: number, text: string) =>
  Effect.promise(async () => {
    const socket = await openConnection(port)
    await new Promise<void>((resolve) => socket.write(text, () => resolve()))
    socket.destroy()
  })

/** Asks again until the answer is right: for what happens after a client has left. */
const until = <A>(read: Effect.Effect<A>, isRight: (value: A) => boolean): Effect.Effect<A> =>
  Effect.flatMap(read, (value) =>
    isRight(value)
      ? Effect.succeed(value)
      : Effect.andThen(
          Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
          until(read, isRight)
        )
  )

describe("authorizations and budgets (part 5)", () => {
  it.effect("a commit after a cancellation is a conflict without a transition (killbill/killbill#515)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const mandate = yield* tenant.activeMandate()
      const authorization = yield* tenant.propose(mandate.id)
      bodyOf(yield* tenant.cancel(authorization.id), 200)
      const conflict = bodyOf(yield* tenant.commit(authorization), 409)
      assert.strictEqual(conflict.code, "terminal_state_conflict")
      assert.deepStrictEqual([conflict.current_state, conflict.resource_id], ["CANCELLED", authorization.id])
      const read = yield* tenant.get(`/v1/authorizations/${authorization.id}`)
      assert.strictEqual(read.state, "CANCELLED")
      assert.notProperty(read, "commit")
      const types = yield* tenant.eventTypes(mandate.id)
      assert.notInclude(types, "authorization.committed")
      assert.strictEqual(types.at(-1), "authorization.outcome_conflict")
    })
  )

  it.effect("10 concurrent commits under one key record one event (shopware/shopware#16580)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const mandate = yield* tenant.activeMandate(recurring({ max_executions: 5 }))
      const { id, opening } = yield* tenant.propose(mandate.id)
      const body = yield* tenant.commitBody(opening)
      const requests = Array.from({ length: 10 }, () =>
        tenant.write("PUT", `/v1/authorizations/${id}/commit`, body, "k")
      )
      const answers = yield* Effect.all(requests, { concurrency: "unbounded" })
      for (const answer of answers) assert.strictEqual(bodyOf(answer, 200).state, "COMMITTED")
      const types = yield* tenant.eventTypes(mandate.id)
      assert.lengthOf(
        types.filter((type) => type === "authorization.committed"),
        1
      )
      assert.strictEqual((yield* tenant.get(`/v1/mandates/${mandate.id}`)).usage.committed_executions, 1)
    })
  )

  it.effect("cancellation racing expiry records one terminal event (alphagov/pay-connector#152)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const mandate = yield* tenant.activeMandate(recurring({ max_executions: 1000 }))
      const made = yield* Effect.forEach(
        Array.from({ length: 100 }),
        () => tenant.propose(mandate.id, 1, { execution_window_seconds: 30 }),
        { concurrency: 10 }
      )
      const cancels = made.map(({ id }) => tenant.cancel(id))
      const expire = Effect.as(TestClock.adjust("30 seconds"), undefined)
      const answers = yield* Effect.all([...cancels.slice(0, 50), expire, ...cancels.slice(50)], {
        concurrency: 8
      })
      for (const answer of answers) if (answer !== undefined) assert.include([200, 409], answer.status)
      const ended = yield* Effect.forEach(made, ({ id }) => tenant.get(`/v1/authorizations/${id}`))
      assert.sameMembers([...new Set(ended.map(({ state }) => state))], ["CANCELLED", "EXPIRED"])
      const journal: Array<{ readonly type: string; readonly authorization_id?: string }> = []
      let cursor = ""
      do {
        const page = yield* tenant.get(`/v1/mandates/${mandate.id}/events?limit=100${cursor}`)
        journal.push(...page.data)
        cursor = page.next_cursor === null ? "" : `&cursor=${encodeURIComponent(page.next_cursor)}`
      } while (cursor !== "")
      for (const { id, state } of ended) {
        const ends = journal.filter(
          ({ type, authorization_id }) =>
            authorization_id === id && ["authorization.cancelled", "authorization.expired"].includes(type)
        )
        assert.deepStrictEqual(
          ends.map(({ type }) => type),
          [`authorization.${String(state).toLowerCase()}`]
        )
      }
      assert.strictEqual((yield* tenant.get(`/v1/mandates/${mandate.id}`)).usage.reserved_executions, 0)
    })
  )

  it.effect("a budget of 10000 allows 3 of 50 concurrent proposals of 3000 (BerriAI/litellm#34732)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const mandate = yield* tenant.activeMandate(recurring({ max_amount: 10_000 }))
      const proposals = yield* Effect.all(
        Array.from({ length: 50 }, () => tenant.propose(mandate.id, 3000)),
        { concurrency: "unbounded" }
      )
      const allowed = proposals.filter(({ decision }) => decision === "ALLOW")
      assert.lengthOf(allowed, 3)
      for (const { decision, reasons } of proposals) {
        if (decision !== "ALLOW") assert.strictEqual(reasons[0].code, "PERIOD_AMOUNT_EXCEEDED")
      }
      assert.strictEqual((yield* tenant.get(`/v1/mandates/${mandate.id}`)).usage.reserved_amount, 9000)
    })
  )

  it.effect("an abandoned reservation is released when it expires (BerriAI/litellm#30519)", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* begin()
      const mandate = yield* tenant.activeMandate(recurring({ max_amount: 10_000 }))
      const usage = Effect.map(tenant.get(`/v1/mandates/${mandate.id}`), (read) => read.usage)
      for (const _ of ["first", "second"]) {
        const body = JSON.stringify(tenant.proposalBody({ execution_window_seconds: 60 }, { amount: 5000 }))
        const lines = [
          `POST /v1/mandates/${mandate.id}/authorizations HTTP/1.1`,
          "Host: api.example",
          `Authorization: Bearer ${tenant.key}`,
          `Idempotency-Key: ${newKey()}`,
          "Content-Type: application/json",
          `Content-Length: ${Buffer.byteLength(body)}`
        ]
        const reserved = (yield* usage).reserved_amount
        yield* sendAndLeave(apiPort, `${lines.join("\r\n")}\r\n\r\n${body}`)
        yield* until(usage, (now) => now.reserved_amount > reserved)
      }
      assert.strictEqual((yield* tenant.propose(mandate.id, 1)).decision, "DENY")
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* usage).reserved_amount, 0)
      const again = [yield* tenant.propose(mandate.id, 5000), yield* tenant.propose(mandate.id, 5000)]
      assert.deepStrictEqual(decisionsOf(again), ["ALLOW", "ALLOW"])
      for (const { id } of again) bodyOf(yield* tenant.cancel(id), 200)
      assert.strictEqual((yield* usage).reserved_amount, 0)
      assert.strictEqual((yield* tenant.propose(mandate.id, 5000)).decision, "ALLOW")
    })
  )

  it.effect("months from the 31st leave no gaps (BerriAI/litellm#4042, chmonitor/chmonitor#2514)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin(Date.UTC(2027, 0, 31, 10))
      const mandate = yield* tenant.activeMandate(recurring({ alignment: "MANDATE", max_executions: 1 }))
      const { data } = yield* tenant.get(`/v1/mandates/${mandate.id}/periods`)
      const starts = data.map((entry: { readonly starts_at: string }) => entry.starts_at.slice(0, 10))
      assert.deepStrictEqual(starts.slice(0, 4), ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30"])
      for (const [index, entry] of data.entries()) {
        if (index > 0) assert.strictEqual(entry.starts_at, data[index - 1].ends_at)
      }
      const decisions: Array<string> = []
      for (const at of [
        Date.UTC(2027, 0, 31, 11),
        Date.UTC(2027, 1, 27, 23, 59, 59, 999),
        Date.UTC(2027, 1, 28),
        Date.UTC(2027, 2, 1),
        Date.UTC(2027, 2, 30, 23, 59, 59, 999),
        Date.UTC(2027, 2, 31)
      ]) {
        yield* TestClock.setTime(at)
        const authorization = yield* tenant.propose(mandate.id)
        if (authorization.decision === "ALLOW") bodyOf(yield* tenant.commit(authorization), 200)
        decisions.push(authorization.decision)
        const { periods } = (yield* tenant.get(`/v1/mandates/${mandate.id}`)).usage
        assert.lengthOf(periods, 1)
        assert.isAtMost(Date.parse(periods[0].starts_at), at)
        assert.isAbove(Date.parse(periods[0].ends_at), at)
        assert.strictEqual(periods[0].committed_executions, 1)
      }
      assert.deepStrictEqual(decisions, ["ALLOW", "DENY", "ALLOW", "DENY", "DENY", "ALLOW"])
    })
  )

  it.effect("invalid amounts are refused (dinerojs/dinero.js#84, josdejong/lossless-json#268)", () =>
    Effect.gen(function* () {
      const { tenant, watch } = yield* begin()
      const mandate = yield* tenant.activeMandate()
      const creation = JSON.stringify(yield* tenant.mandateBody())
      const proposal = JSON.stringify(tenant.proposalBody())
      const writes = watch.writes.length
      for (const [amount, status, code] of [
        ["9007199254740993", 400, "malformed_json"],
        ["1e16", 400, "malformed_json"],
        ["0", 422, "validation_failed"],
        ["-1", 422, "validation_failed"],
        ["100.5", 422, "validation_failed"],
        ['"100"', 422, "validation_failed"]
      ] as const) {
        const made = creation.replace('"max_amount":5000', `"max_amount":${amount}`)
        assert.strictEqual(codeOf(yield* tenant.write("POST", "/v1/mandates", made), status), code)
        const proposed = proposal.replace('"amount":100', `"amount":${amount}`)
        const path = `/v1/mandates/${mandate.id}/authorizations`
        assert.strictEqual(codeOf(yield* tenant.write("POST", path, proposed), status), code)
      }
      assert.strictEqual(watch.writes.length, writes)
    })
  )

  it.effect("limits and amounts are both in minor units (google-agentic-commerce/AP2#340)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      for (const currency of ["JPY", "EUR", "KWD"]) {
        const { id } = yield* tenant.activeMandate(recurring({ max_amount: 7000 }, { currency }))
        const proposed_action = { action: "card.create", payment: { amount: 5000, currency } }
        const first = yield* tenant.propose(id, 5000, { proposed_action })
        const second = yield* tenant.propose(id, 5000, { proposed_action })
        assert.deepStrictEqual(decisionsOf([first, second]), ["ALLOW", "DENY"], currency)
        const { code, limit, requested, reserved, used } = second.reasons[0]
        assert.deepStrictEqual(
          { code, limit, requested, reserved, used },
          { code: "PERIOD_AMOUNT_EXCEEDED", limit: 7000, requested: 5000, reserved: 5000, used: 0 }
        )
      }
    })
  )

  it.effect("a late release returns to the day of its reservation (etherfi-protocol/cash-v3#120)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin(Date.UTC(2026, 10, 28, 23))
      const { id } = yield* tenant.activeMandate(recurring({ unit: "DAY", max_amount: 5000 }))
      const before = yield* tenant.propose(id, 5000, { execution_window_seconds: 86_400 })
      yield* TestClock.setTime(Date.UTC(2026, 10, 29, 1))
      const today = yield* tenant.propose(id, 3000)
      assert.deepStrictEqual(decisionsOf([before, today]), ["ALLOW", "ALLOW"])
      bodyOf(yield* tenant.cancel(before.id), 200)
      const { usage } = yield* tenant.get(`/v1/mandates/${id}`)
      assert.deepStrictEqual([usage.reserved_amount, usage.periods[0].reserved_amount], [3000, 3000])
      const more = [yield* tenant.propose(id, 2001), yield* tenant.propose(id, 2000)]
      assert.deepStrictEqual(decisionsOf(more), ["DENY", "ALLOW"])
    })
  )
})

/** An assertion over claims as text, which may hold what no JSON value can. */
const assertionOver = ({ issuer }: Tenant, claims: string): string => {
  const header = encodeBase64Url(Buffer.from(JSON.stringify({ alg: "ES256", kid: issuer.privateJwk.kid })))
  const input = `${header}.${encodeBase64Url(Buffer.from(claims))}`
  const key = createPrivateKey({ key: { ...issuer.privateJwk }, format: "jwk" })
  const signature = sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" })
  return `${input}.${encodeBase64Url(signature)}`
}

describe("identity assertions (part 6)", () => {
  /** Opens a session with this assertion, under a key of its own unless one is given. */
  const open = Effect.fnUntraced(function* (tenant: Tenant, identity_assertion: string, key = newKey()) {
    const { id } = yield* tenant.newMandate()
    const body = yield* tenant.sessionBody({ identity_assertion })
    return yield* tenant.write("POST", `/v1/mandates/${id}/approval-sessions`, body, key)
  })

  const openWith = Effect.fnUntraced(function* (tenant: Tenant, claims: Readonly<Record<string, unknown>>) {
    return yield* open(tenant, yield* tenant.assertionFor({ overrides: { claims } }))
  })

  const assertRefused = (answer: RawAnswer, what?: string) =>
    assert.strictEqual(codeOf(answer, 422), "identity_assertion_invalid", what)

  const seconds = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000))

  it.effect("one assertion opens one session, whatever the idempotency key (mosip/esignet#2418)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const assertion = yield* tenant.assertionFor()
      bodyOf(yield* open(tenant, assertion), 201)
      assert.strictEqual(codeOf(yield* open(tenant, assertion), 409), "assertion_replayed")
      const another = yield* tenant.assertionFor()
      const [left, right] = yield* Effect.all([open(tenant, another), open(tenant, another)], {
        concurrency: 2
      })
      assert.sameMembers([left.status, right.status], [201, 409])
    })
  )

  it.effect("iat one second ahead is accepted, ten minutes ahead refused (bluesky-social/atproto#4474)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const now = yield* seconds
      bodyOf(yield* openWith(tenant, { iat: now + 1, exp: now + 300 }), 201)
      assertRefused(yield* openWith(tenant, { iat: now + 600, exp: now + 900 }))
    })
  )

  it.effect("exp a day ahead is refused (mosip/esignet#2532)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      assertRefused(yield* openWith(tenant, { exp: (yield* seconds) + 86_400 }))
    })
  )

  it.effect("a missing or non-numeric exp is refused (auth0/node-jsonwebtoken#220, #293)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const now = yield* seconds
      for (const exp of [undefined, String(now + 300), null, [now + 300], true]) {
        assertRefused(yield* openWith(tenant, { exp }), String(exp))
      }
      const claims = (exp: string, jti: string) =>
        `{"iss":"${tenant.issuer.issuer}","sub":"${SUBJECT}","aud":"svc","iat":${now},"exp":${exp},"jti":"${jti}"}`
      assertRefused(yield* open(tenant, assertionOver(tenant, claims("1e400", "a"))))
      bodyOf(yield* open(tenant, assertionOver(tenant, claims(String(now + 300), "b"))), 201)
    })
  )

  it.effect("aud must be ours or a list with ours, exactly (jwt/ruby-jwt#345)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      bodyOf(yield* openWith(tenant, { aud: ["other", "svc"] }), 201)
      for (const aud of [[], "svc.evil", ["svc.evil"], "SVC", undefined, null, { svc: true }, [["svc"]]]) {
        assertRefused(yield* openWith(tenant, { aud }), JSON.stringify(aud))
      }
    })
  )
})

/** Larger than any answer to a request that is refused by its headers has to cost, in bytes. */
const MEMORY_ALLOWANCE_BYTES = 64 * 1024 * 1024
const LARGE_BODY_BYTES = 20 * 1024 * 1024

describe("the API over HTTP (parts 1 and 2)", () => {
  const withMembers = KEYED_ROUTES.filter(({ rule }) => rule.body === "members")
  const absentPath = (template: string) => pathOf(template, (name) => `${name.slice(0, 3)}_${ABSENT}`)

  it.effect("the body {bad is malformed_json on every write (Effect-TS/effect-smol#2491)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      for (const { method, template } of withMembers) {
        const answer = yield* tenant.write(method, absentPath(template), "{bad")
        assert.strictEqual(codeOf(answer, 400), "malformed_json", template)
      }
    })
  )

  it.effect("application/json alone is accepted, in any case (elastic/apm-server#676)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const body = yield* tenant.mandateBody()
      const post = (type: string) =>
        tenant.send({
          path: "/v1/mandates",
          body,
          idempotencyKey: newKey(),
          headers: { "content-type": type }
        })
      for (const type of ["application/json; charset=UTF-8", "APPLICATION/JSON"]) {
        bodyOf(yield* post(type), 201)
      }
      assert.strictEqual(codeOf(yield* post("application/x+json"), 415), "unsupported_media_type")
    })
  )

  it.effect("an empty body is accepted only where the body has no members (fastify/fastify#1252)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const json = { "content-type": "application/json", "content-length": "0" }
      const memberless = KEYED_ROUTES.filter(({ rule }) => rule.body === "empty")
      assert.isNotEmpty(memberless)
      for (const { method, template } of memberless) {
        const path = absentPath(template)
        const answer = yield* tenant.send({ method, path, idempotencyKey: newKey(), headers: json })
        assert.strictEqual(codeOf(answer, 404), "not_found", template)
      }
      for (const { method, template } of withMembers) {
        const path = absentPath(template)
        const answer = yield* tenant.send({ method, path, idempotencyKey: newKey(), headers: json })
        assert.strictEqual(codeOf(answer, 400), "malformed_json", template)
      }
    })
  )

  it.effect("undecodable paths are not found or malformed (expressjs/express#678, #2375)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const reads = KEYED_ROUTES.filter(
        ({ method, template }) => method === "GET" && parametersOf(template).includes("mandate_id")
      )
      for (const { template } of reads) {
        for (const id of ["%80", "%ZZ", "%00", "a%2Fb"]) {
          const answer = yield* tenant.send({ path: template.replace("{mandate_id}", id) })
          assert.include([400, 404], answer.status, `${template} ${id}`)
          assert.strictEqual(answer.headers["content-type"], "application/problem+json")
        }
      }
    })
  )

  it.effect("a body of 20 MB is answered 413, with a length and in chunks (honojs/node-server#327)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const large = Buffer.alloc(LARGE_BODY_BYTES, " ")
      const size = LARGE_BODY_BYTES.toString(16)
      const chunked = Buffer.concat([Buffer.from(`${size}\r\n`), large, Buffer.from("\r\n0\r\n\r\n")])
      const unsized = { "content-length": null, "transfer-encoding": "chunked" }
      const post = { path: "/v1/mandates", idempotencyKey: "k" }
      assert.strictEqual(codeOf(yield* tenant.send({ ...post, body: large }), 413), "payload_too_large")
      assert.strictEqual(
        codeOf(yield* tenant.send({ ...post, body: chunked, headers: unsized }), 413),
        "payload_too_large"
      )
    })
  )

  it.effect("a compressed bomb without an API key is not inflated (OneUptime/oneuptime#3404)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const bomb = gzipSync(Buffer.alloc(60_000_000))
      const headers = { "content-encoding": "gzip" }
      const before = process.memoryUsage().rss
      for (let sent = 0; sent < 20; sent++) {
        const refused = yield* tenant.send({ path: "/v1/mandates", key: null, body: bomb, headers })
        assert.strictEqual(codeOf(refused, 401), "authentication_required")
      }
      const known = yield* tenant.send({ path: "/v1/mandates", body: bomb, headers, idempotencyKey: "k" })
      assert.strictEqual(codeOf(known, 415), "unsupported_media_type")
      assert.isBelow(process.memoryUsage().rss - before, MEMORY_ALLOWANCE_BYTES)
    })
  )

  it.effect("a return_url must be of a registered origin in any spelling (steemit/condenser#4008)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const { id } = yield* tenant.newMandate()
      const open = Effect.fnUntraced(function* (return_url: string) {
        const body = yield* tenant.sessionBody({ return_url })
        return yield* tenant.write("POST", `/v1/mandates/${id}/approval-sessions`, body)
      })
      for (const url of [
        `${RETURN_ORIGIN}@evil.example/`,
        "https://user@shop.example/",
        "https:\\\\shop.example\\",
        `${RETURN_ORIGIN}\\@evil.example`,
        "https:/\\evil.example",
        "https:/shop.example/",
        "https:shop.example/",
        "//shop.example/",
        "https://shop.example./",
        "https://shop.example\t/",
        "https://sh\top.example/",
        " https://shop.example/",
        "https://shop.example:8443/",
        "http://shop.example/",
        "https://shop.example.evil.example/",
        "https://\u0455hop.example/",
        "javascript:alert(1)"
      ]) {
        assert.strictEqual(codeOf(yield* open(url), 422), "return_url_not_allowed", JSON.stringify(url))
      }
      for (const url of ["https://shop.example:443/done", "HTTPS://SHOP.example/done#part"]) {
        bodyOf(yield* open(url), 201)
      }
    })
  )

  it.effect("invalid dates, dates without a time and offsets are refused (nodejs/node#47253)", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      for (const ends_at of ["2027-02-30T00:00:00Z", "2027-02-28", "2027-02-28T00:00:00+02:00", 1]) {
        const body = yield* tenant.mandateBody({ window: { ends_at } })
        const { code, errors } = bodyOf(yield* tenant.write("POST", "/v1/mandates", body), 422)
        assert.strictEqual(code, "validation_failed")
        assert.strictEqual(errors[0].pointer, "/window/ends_at")
      }
    })
  )
})
