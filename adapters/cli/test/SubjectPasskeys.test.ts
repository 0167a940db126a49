import { assert, describe, it } from "@effect/vitest"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"
import { Effect } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { bodyOf, newKey, type Service, startService, type Tenant } from "./ServiceUnderTest.ts"

const NOW = Date.UTC(2026, 10, 28, 9)

const begin = Effect.fnUntraced(function* (settings: Parameters<Service["makeTenant"]>[0] = {}) {
  yield* TestClock.setTime(NOW)
  const service = yield* startService()
  return { service, tenant: yield* service.makeTenant(settings) }
})

const codeOf = (answer: RawAnswer, status: number): string => bodyOf(answer, status).code

/** `encodeURIComponent` leaves full stops as they are, but a segment of them alone is nobody's. */
const encoded = (subject: string): string =>
  /^\.{1,2}$/u.test(subject) ? subject.replaceAll(".", "%2E") : encodeURIComponent(subject)

const passkeysPath = (subject: string): string => `/v1/subjects/${encoded(subject)}/passkeys`

const openFor = Effect.fnUntraced(function* (
  tenant: Tenant,
  subject: string,
  parts: Partial<Parameters<Tenant["assertionFor"]>[0]> = {}
) {
  const mandate = yield* tenant.newMandate({ subject_reference: subject })
  const identity_assertion = yield* tenant.assertionFor({ subject, ...parts })
  return {
    mandateId: mandate.id as string,
    ...(yield* tenant.openSession(mandate.id, { identity_assertion }))
  }
})

/** Has the subject enrol a passkey by an approval. */
const enrol = Effect.fnUntraced(function* (service: Service, tenant: Tenant, subject: string) {
  const session = yield* openFor(tenant, subject)
  const browser = service.newBrowser()
  const { passkey_id } = bodyOf(yield* browser.register(session.path), 201)
  bodyOf(yield* browser.approve(session.path), 200)
  return { browser, passkeyId: passkey_id as string }
})

/** References that mean another path, or another reference, to whoever decodes them wrongly. */
const REFERENCES = [
  "user_8f2",
  "a/b",
  "a%2Fb",
  "a%252Fb",
  "a b",
  "a+b",
  "a%20b",
  "..",
  "a/../b",
  "a?b=c",
  "a#b",
  "a;b",
  ":subject",
  "*",
  "é",
  "e\u0301",
  "日本語",
  "\u{1f600}",
  "\u202eabc",
  "__proto__",
  "\u{1f600}".repeat(255)
]

describe("the passkeys of a subject (part 6)", () => {
  it.effect("are listed under its percent-encoded reference and no other", () =>
    Effect.gen(function* () {
      const { service, tenant } = yield* begin()
      const made = new Map<string, string>()
      for (const reference of REFERENCES) {
        made.set(reference, (yield* enrol(service, tenant, reference)).passkeyId)
      }
      for (const [reference, id] of made) {
        const listed = yield* tenant.get(passkeysPath(reference))
        assert.deepStrictEqual(
          listed,
          {
            data: [
              {
                id,
                created_at: "2026-11-28T09:00:00.000000000Z",
                last_used_at: "2026-11-28T09:00:00.000000000Z",
                backup_eligible: true
              }
            ],
            has_more: false,
            next_cursor: null
          },
          reference
        )
      }
      for (const [index, [reference, id]] of [...made].entries()) {
        const another = REFERENCES[(index + 1) % REFERENCES.length]!
        const retire = (subject: string, passkey: string) =>
          tenant.send({ method: "DELETE", path: `${passkeysPath(subject)}/${passkey}` })
        assert.strictEqual(codeOf(yield* retire(another, id), 404), "not_found", reference)
        for (const _ of ["once", "and again"]) {
          const retired = yield* retire(reference, id)
          assert.deepStrictEqual([retired.status, retired.body], [204, ""], reference)
        }
        assert.deepStrictEqual((yield* tenant.get(passkeysPath(reference))).data, [], reference)
      }
    })
  )

  it.effect("are not visible to another organization", () =>
    Effect.gen(function* () {
      const { service, tenant } = yield* begin()
      const { passkeyId } = yield* enrol(service, tenant, "user_1")
      const { other } = service
      assert.deepStrictEqual((yield* other.get(passkeysPath("user_1"))).data, [])
      const foreign = yield* other.send({
        method: "DELETE",
        path: `${passkeysPath("user_1")}/${passkeyId}`
      })
      const absent = yield* other.send({
        method: "DELETE",
        path: `${passkeysPath("user_1")}/psk_00000000000000000000000000`
      })
      const shown = ({ body, status }: RawAnswer) => {
        const { request_id: _, ...problem } = JSON.parse(body)
        return { status, problem }
      }
      assert.deepStrictEqual(shown(foreign), shown(absent))
      assert.strictEqual(foreign.status, 404)
      assert.lengthOf((yield* tenant.get(passkeysPath("user_1"))).data, 1)
    })
  )

  it.effect("do not include a passkey that has not approved anything yet", () =>
    Effect.gen(function* () {
      const { service, tenant } = yield* begin()
      const session = yield* openFor(tenant, "user_1")
      const browser = service.newBrowser()
      const { passkey_id } = bodyOf(yield* browser.register(session.path), 201)
      assert.deepStrictEqual((yield* tenant.get(passkeysPath("user_1"))).data, [])
      const path = `${passkeysPath("user_1")}/${passkey_id}`
      assert.strictEqual(codeOf(yield* tenant.send({ method: "DELETE", path }), 404), "not_found")
      bodyOf(yield* browser.approve(session.path), 200)
      assert.strictEqual((yield* tenant.get(passkeysPath("user_1"))).data[0].id, passkey_id)
    })
  )

  it.effect("cannot approve once retired, not even in a running ceremony", () =>
    Effect.gen(function* () {
      const { service, tenant } = yield* begin()
      const { browser, passkeyId } = yield* enrol(service, tenant, "user_1")
      const { mandateId, path } = yield* openFor(tenant, "user_1")
      const { options, step } = yield* browser.ceremony(path)
      assert.strictEqual(step, "approve")
      const retired = yield* tenant.send({
        method: "DELETE",
        path: `${passkeysPath("user_1")}/${passkeyId}`
      })
      assert.strictEqual(retired.status, 204)
      const refused = yield* browser.post(`${path}/approval`, browser.passkey.authenticate(options))
      assert.strictEqual(codeOf(refused, 422), "passkey_verification_failed")
      assert.strictEqual(codeOf(yield* browser.post(`${path}/ceremony`, {}), 422), "enrolment_not_allowed")
      assert.strictEqual((yield* tenant.get(`/v1/mandates/${mandateId}`)).state, "PENDING_APPROVAL")
      // It can still be declined.
      bodyOf(yield* browser.post(`${path}/decline`, {}), 200)
    })
  )

  it.effect("are read with scope read and retired with scope write", () =>
    Effect.gen(function* () {
      const { service, tenant } = yield* begin()
      const { passkeyId } = yield* enrol(service, tenant, "user_1")
      const path = passkeysPath("user_1")
      const [read, write] = [
        yield* tenant.makeKey({ scopes: ["read"] }),
        yield* tenant.makeKey({ scopes: ["write"] })
      ]
      const retire = { method: "DELETE", path: `${path}/${passkeyId}` }
      assert.strictEqual((yield* tenant.send({ path, key: read })).status, 200)
      assert.strictEqual(codeOf(yield* tenant.send({ path, key: write }), 403), "scope_insufficient")
      assert.strictEqual(codeOf(yield* tenant.send({ ...retire, key: read }), 403), "scope_insufficient")
      assert.strictEqual((yield* tenant.send({ ...retire, key: write })).status, 204)
    })
  )
})

describe("passkey enrolment (part 6)", () => {
  const NOT_TRUE = [undefined, false, "true", 1, null, [true], {}]

  for (const passkeyEnrolment of ["CALLER_ALLOWED", "FIRST_USE"] as const) {
    it.effect(`under ${passkeyEnrolment} accepts svc_enrol: true alone where it is required`, () =>
      Effect.gen(function* () {
        const { service, tenant } = yield* begin({ passkeyEnrolment })
        const subject = "user_1"
        const create = Effect.fnUntraced(function* (svc_enrol: unknown) {
          const mandate = yield* tenant.newMandate({ subject_reference: subject })
          const claims = svc_enrol === undefined ? {} : { svc_enrol }
          const identity_assertion = yield* tenant.assertionFor({ subject, overrides: { claims } })
          const body = yield* tenant.sessionBody({ identity_assertion })
          return yield* tenant.write("POST", `/v1/mandates/${mandate.id}/approval-sessions`, body)
        })
        const refusedUnlessTrue = Effect.gen(function* () {
          for (const claim of NOT_TRUE) {
            assert.strictEqual(
              codeOf(yield* create(claim), 422),
              "enrolment_not_allowed",
              JSON.stringify(claim)
            )
          }
        })
        const enrolWith = Effect.fnUntraced(function* (claim: unknown) {
          const path = new URL(bodyOf(yield* create(claim), 201).approval_url).pathname
          const browser = service.newBrowser()
          bodyOf(yield* browser.register(path), 201)
          bodyOf(yield* browser.approve(path), 200)
        })
        const retireAll = Effect.gen(function* () {
          for (const { id } of (yield* tenant.get(passkeysPath(subject))).data) {
            yield* tenant.send({ method: "DELETE", path: `${passkeysPath(subject)}/${id}` })
          }
        })

        if (passkeyEnrolment === "CALLER_ALLOWED") yield* refusedUnlessTrue
        yield* enrolWith(passkeyEnrolment === "FIRST_USE" ? undefined : true)
        for (const claim of NOT_TRUE) bodyOf(yield* create(claim), 201)
        yield* retireAll
        yield* refusedUnlessTrue
        yield* enrolWith(true)
        yield* retireAll
        yield* refusedUnlessTrue
      })
    )
  }

  it.effect(
    "in two sessions at once ends with the first approval, whose passkey the other session uses",
    () =>
      Effect.gen(function* () {
        const { service, tenant } = yield* begin()
        const sessions = [yield* openFor(tenant, "user_1"), yield* openFor(tenant, "user_1")]
        const visits = []
        for (const session of sessions) {
          const browser = service.newBrowser()
          bodyOf(yield* browser.register(session.path), 201)
          const { options } = yield* browser.ceremony(session.path)
          visits.push({ session, browser, body: browser.passkey.authenticate(options) })
        }
        const answers = yield* Effect.all(
          visits.map(({ body, browser, session }) => browser.post(`${session.path}/approval`, body)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 422])
        const [winner, loser] =
          answers[0]?.status === 200 ? [visits[0]!, visits[1]!] : [visits[1]!, visits[0]!]
        const { options, step } = yield* loser.browser.ceremony(loser.session.path)
        assert.strictEqual(step, "approve")
        assert.deepStrictEqual(
          options.allowCredentials.map(({ id }: { readonly id: string }) => id),
          [winner.body.id]
        )
        const body = winner.browser.passkey.authenticate(options)
        bodyOf(yield* loser.browser.post(`${loser.session.path}/approval`, body), 200)
        assert.lengthOf((yield* tenant.get(passkeysPath("user_1"))).data, 1)
        for (const { mandateId } of sessions) {
          assert.deepStrictEqual(yield* tenant.eventTypes(mandateId), ["mandate.created", "mandate.approved"])
        }
      })
  )
})

describe("approval sessions (part 6)", () => {
  it.effect("requested 64 times at once under one key are one, with one address and no Location", () =>
    Effect.gen(function* () {
      const { tenant } = yield* begin()
      const mandate = yield* tenant.newMandate()
      const body = yield* tenant.sessionBody()
      const [path, key] = [`/v1/mandates/${mandate.id}/approval-sessions`, newKey()]
      const answers = yield* Effect.all(
        Array.from({ length: 64 }, () => tenant.write("POST", path, body, key)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(answers.map((answer) => JSON.stringify(bodyOf(answer, 201)))).size, 1)
      const first = answers.filter(({ headers }) => headers["idempotency-replayed"] !== "true")
      assert.lengthOf(first, 1)
      for (const { headers } of answers) {
        assert.strictEqual(headers["cache-control"], "no-store")
        assert.isUndefined(headers.location)
      }
    })
  )

  it.effect("approved twice at once with the same response are approved once", () =>
    Effect.gen(function* () {
      const { service, tenant } = yield* begin()
      const { mandateId, path } = yield* openFor(tenant, "user_1")
      const browser = service.newBrowser()
      bodyOf(yield* browser.register(path), 201)
      const { options } = yield* browser.ceremony(path)
      const body = browser.passkey.authenticate(options)
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => browser.post(`${path}/approval`, body)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, ...Array(7).fill(410)])
      assert.deepStrictEqual(yield* tenant.eventTypes(mandateId), ["mandate.created", "mandate.approved"])
    })
  )
})
