import { assert, describe, it } from "@effect/vitest"
import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { BASE_URL, startApi } from "../../test/ApiUnderTest.ts"
import { ask, openConnection, parseAnswer, type RawAnswer } from "../../test/RawExchange.ts"

const MANDATE = "/v1/mandates/mnd_00000000000000000000000000"

const assertProblem = (answer: RawAnswer, status: number, code: string) => {
  assert.strictEqual(answer.headers["content-type"], "application/problem+json", answer.body)
  const problem = JSON.parse(answer.body)
  assert.strictEqual(problem.code, code)
  assert.strictEqual(answer.status, status)
  assert.strictEqual(problem.request_id, answer.headers["x-request-id"])
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  if (status === 401) assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
  return problem
}

const mandateBody = (more: object = {}) => ({
  kind: "SINGLE",
  subject_reference: "user_1",
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
  window: { ends_at: "2035-01-01T00:00:00Z" },
  ...more
})

interface Operation {
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly required?: boolean }>
  readonly responses: Readonly<Record<string, { readonly description?: string }>>
}

describe("API keys (part 2)", () => {
  it.live("are checked before everything else", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const lines = ["Accept: text/plain", "Content-Type: text/plain"]
      const answer = yield* api.send({ method: "POST", path: "/v1/mandates?x=1", lines })
      assert.strictEqual(assertProblem(answer, 401, "authentication_required").instance, "/v1/mandates")
    })
  )

  it.live("are accepted in the Authorization header alone", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      for (const request of [
        { path: `/v1/mandates?api_key=${api.key}` },
        { path: "/v1/mandates", lines: [`Cookie: api_key=${api.key}`] },
        { path: "/v1/mandates", body: { api_key: api.key } },
        { path: "/v1/mandates", lines: [`Authorization: Basic ${api.key}`] },
        { path: "/v1/mandates", lines: [`X-Api-Key: ${api.key}`] },
        { path: "/v1/mandates", lines: ["Authorization: Bearer"] }
      ]) {
        assertProblem(yield* api.send(request), 401, "authentication_required")
      }
    })
  )

  it.live("that are unknown, revoked, expired, malformed or of another environment get the same answer", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const last = api.key.at(-1) === "A" ? "E" : "A"
      for (const key of [
        `${api.key.slice(0, -1)}${last}`,
        api.key.replace("svc_test_", "svc_live_"),
        api.key.toUpperCase(),
        `${api.key}=`,
        "x",
        "x".repeat(10_000),
        yield* api.makeKey({ revokedAt: "2026-01-02T00:00:00Z" }),
        yield* api.makeKey({ expiresAt: "2026-01-02T00:00:00Z" })
      ]) {
        const problem = assertProblem(yield* api.send({ path: "/v1/mandates", key }), 401, "api_key_invalid")
        assert.strictEqual(
          problem.detail,
          "The key is unknown, revoked, expired, or belongs to another environment."
        )
      }
    })
  )

  it.live("are accepted with the scheme in any case", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const lines = [`Authorization: bearer ${api.key}`]
      assert.strictEqual((yield* api.send({ path: "/v1/mandates", lines })).status, 200)
    })
  )

  it.live("need the scope read for a GET and write for a write", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const reader = yield* api.makeKey({ scopes: ["read"] })
      const writer = yield* api.makeKey({ scopes: ["write"] })
      const passkey = "/v1/subjects/u/passkeys/psk_00000000000000000000000000"
      assert.strictEqual((yield* api.send({ path: "/v1/mandates", key: reader })).status, 200)
      assertProblem(yield* api.send({ path: "/v1/mandates", key: writer }), 403, "scope_insufficient")
      assertProblem(yield* api.send({ path: "/v1/mandates?x", key: writer }), 403, "scope_insufficient")
      assertProblem(
        yield* api.send({ path: "/v1/mandates", key: reader, body: "{" }),
        403,
        "scope_insufficient"
      )
      assertProblem(
        yield* api.send({ method: "DELETE", path: passkey, key: reader }),
        403,
        "scope_insufficient"
      )
      assertProblem(yield* api.send({ method: "DELETE", path: passkey, key: writer }), 404, "not_found")
    })
  )
})

describe("the request rate (part 9)", () => {
  it.live("is limited per API key, after its credentials and before its query", () =>
    Effect.gen(function* () {
      const api = yield* startApi({ rate: { rate: 1, burst: 2 } })
      for (const left of ["1", "0"]) {
        const allowed = yield* api.send({ path: "/v1/mandates", key: api.key })
        assert.strictEqual(allowed.status, 200)
        assert.include(allowed.headers, { "ratelimit-limit": "2", "ratelimit-remaining": left })
        assert.notProperty(allowed.headers, "retry-after")
      }
      const answer = yield* api.send({ path: "/v1/mandates?x=1", key: api.key })
      assert.strictEqual(assertProblem(answer, 429, "rate_limited").retryable, true)
      assert.strictEqual(answer.headers["retry-after"], "1")
      assert.strictEqual(answer.headers.ratelimit, '"api-key";r=0;t=1')
      assert.strictEqual(answer.headers["ratelimit-policy"], '"api-key";q=2;w=2')
      assert.strictEqual((yield* api.send({ path: "/v1/mandates", key: api.otherKey })).status, 200)
      assert.strictEqual((yield* api.send({ path: "/healthz" })).status, 200)
    })
  )
})

describe("requests without a valid API key", () => {
  const LIMITS = { rate: { rate: 1000, burst: 1000 }, failures: { rate: 0.001, burst: 3 } }

  it.live("are limited by address and lock out no valid key", () =>
    Effect.gen(function* () {
      const api = yield* startApi(LIMITS)
      const ask = (key?: string) => api.send({ path: "/v1/mandates", ...(key === undefined ? {} : { key }) })
      assert.strictEqual((yield* ask(api.key)).status, 200)
      assertProblem(yield* ask(), 401, "authentication_required")
      assertProblem(yield* ask(`${api.key.slice(0, -4)}AAAA`), 401, "api_key_invalid")
      assertProblem(yield* ask("x"), 401, "api_key_invalid")
      for (const key of [undefined, "x", `${api.key.slice(0, -4)}BBBA`]) {
        const refused = yield* ask(key)
        assert.match(assertProblem(refused, 429, "rate_limited").detail, /your address/iu)
        assert.strictEqual(refused.headers.ratelimit, '"address";r=0;t=1000')
        assert.strictEqual(refused.headers["retry-after"], "1000")
      }
      assert.strictEqual((yield* ask(api.key)).status, 200)
      assert.strictEqual((yield* api.send({ path: "/healthz" })).status, 200)
      assert.strictEqual((yield* api.send({ path: "/openapi.json" })).status, 200)
    })
  )
})

describe("the query (part 2)", () => {
  for (const query of [
    "x=1",
    "limit=0",
    "limit=101",
    "limit=",
    "limit=1.0",
    "limit=1e1",
    "limit=-1",
    "limit=%2B1",
    "limit=1&limit=2",
    "state=ACTIV",
    "state=active",
    "state=",
    "subject_reference=",
    "subject_reference=%00",
    "subject_reference=%ZZ",
    `subject_reference=${"a".repeat(256)}`,
    "__proto__=1"
  ]) {
    it.live(`?${query.slice(0, 30)} is malformed_request`, () =>
      Effect.gen(function* () {
        const api = yield* startApi()
        const answer = yield* api.send({ path: `/v1/mandates?${query}`, key: api.key })
        assertProblem(answer, 400, "malformed_request")
      })
    )
  }

  it.live("with an unknown parameter is answered with the known ones, and not quoted", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const refused = "The query has a parameter that this route does not take; it takes"
      for (const [path, detail] of [
        ["/v1/events", `${refused} limit, after.`],
        ["/v1/webhook-endpoints", `${refused} limit, cursor.`],
        [MANDATE, "This route takes no query."]
      ] as const) {
        const answer = yield* api.send({ path: `${path}?sv_secret=%1B`, key: api.key })
        assert.strictEqual(assertProblem(answer, 400, "malformed_request").detail, detail)
      }
    })
  )

  for (const query of ["", "limit=1", "limit=100", "state=ACTIVE", "subject_reference=a+%2B%C3%A9", "&"]) {
    it.live(`?${query} is accepted`, () =>
      Effect.gen(function* () {
        const api = yield* startApi()
        const answer = yield* api.send({ path: `/v1/mandates?${query}`, key: api.key })
        assert.strictEqual(answer.body, '{"data":[],"has_more":false,"next_cursor":null}')
      })
    )
  }

  it.live("is refused with an invalid cursor or from", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const { key } = api
      for (const list of ["/v1/mandates", `${MANDATE}/events`, `${MANDATE}/authorizations`]) {
        assertProblem(yield* api.send({ path: `${list}?cursor=x`, key }), 400, "invalid_cursor")
      }
      assertProblem(
        yield* api.send({ path: `${MANDATE}/periods?from=2026-02-30T00:00:00Z`, key }),
        400,
        "malformed_request"
      )
      assertProblem(yield* api.send({ path: `${MANDATE}/periods?cursor=x`, key }), 400, "malformed_request")
      assertProblem(
        yield* api.send({ path: `${MANDATE}/periods?from=2026-02-20T00:00:00Z`, key }),
        404,
        "not_found"
      )
    })
  )

  it.live("is refused on a write, whatever its body", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const write = { key: api.key, idempotencyKey: "k", body: mandateBody() }
      assertProblem(yield* api.send({ path: "/v1/mandates?x=1", ...write }), 400, "malformed_request")
      const list = yield* api.send({ path: "/v1/mandates", key: api.key })
      assert.deepStrictEqual(JSON.parse(list.body).data, [])
    })
  )
})

describe("the order of checks of a write (part 2)", () => {
  const steps: ReadonlyArray<readonly [string, object, number, string]> = [
    [
      "accept",
      {
        path: "/v1/mandates",
        lines: ["Accept: text/html", "Content-Type: text/plain", "Content-Length: 70000"]
      },
      406,
      "not_acceptable"
    ],
    [
      "media type",
      { path: "/v1/mandates", lines: ["Content-Type: text/plain", "Content-Length: 70000"] },
      415,
      "unsupported_media_type"
    ],
    [
      "encoding",
      {
        path: "/v1/mandates",
        lines: ["Content-Type: application/json", "Content-Encoding: gzip", "Content-Length: 70000"]
      },
      415,
      "unsupported_media_type"
    ],
    [
      "size",
      { path: "/v1/mandates", lines: ["Content-Type: application/json", "Content-Length: 70000"] },
      413,
      "payload_too_large"
    ],
    ["key form", { path: "/v1/mandates", body: "{" }, 400, "idempotency_key_required"],
    ["key form", { path: "/v1/mandates", body: "{", idempotencyKey: "" }, 400, "idempotency_key_invalid"],
    ["JSON", { path: "/v1/mandates", body: "{", idempotencyKey: "k" }, 400, "malformed_json"],
    ["no body", { path: "/v1/mandates", idempotencyKey: "k" }, 400, "malformed_json"],
    [
      "strings",
      { path: "/v1/mandates", body: '{"a":"\\ud800"}', idempotencyKey: "k" },
      422,
      "validation_failed"
    ],
    [
      "schema",
      { path: `${MANDATE}/authorizations`, body: "{}", idempotencyKey: "k" },
      422,
      "validation_failed"
    ],
    ["an array", { path: "/v1/mandates", body: "[]", idempotencyKey: "k" }, 422, "validation_failed"]
  ]
  for (const [step, request, status, code] of steps) {
    it.live(`${step}: ${code}`, () =>
      Effect.gen(function* () {
        const api = yield* startApi()
        const answer = yield* api.send({ method: "POST", key: api.key, ...(request as { path: string }) })
        assertProblem(answer, status, code)
      })
    )
  }

  for (const idempotencyKey of [" ", "a b", "é", "a".repeat(256), "a".repeat(10_000), "a\tb"]) {
    it.live(
      `a key ${JSON.stringify(idempotencyKey.slice(0, 5))} of ${idempotencyKey.length} is invalid`,
      () =>
        Effect.gen(function* () {
          const api = yield* startApi()
          const answer = yield* api.send({ path: "/v1/mandates", key: api.key, idempotencyKey, body: {} })
          assertProblem(answer, 400, "idempotency_key_invalid")
        })
    )
  }
})

describe("Accept (part 2)", () => {
  for (const accept of [
    "application/json",
    "*/*",
    "application/*",
    "text/html, */*;q=0.1",
    "APPLICATION/JSON;v=1",
    ""
  ]) {
    it.live(`${accept || "no value"} is accepted`, () =>
      Effect.gen(function* () {
        const api = yield* startApi()
        const answer = yield* api.send({ path: "/v1/mandates", key: api.key, lines: [`Accept: ${accept}`] })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers["content-type"], "application/json")
      })
    )
  }
  for (const accept of ["text/html", "application/json;q=0", "application/xml, text/*"]) {
    it.live(`${accept} is not acceptable`, () =>
      Effect.gen(function* () {
        const api = yield* startApi()
        const answer = yield* api.send({ path: "/v1/mandates", key: api.key, lines: [`Accept: ${accept}`] })
        assertProblem(answer, 406, "not_acceptable")
      })
    )
  }
})

describe("/v1/mandates (part 4)", () => {
  it.live("creates one mandate per key, with an absolute Location", () =>
    Effect.gen(function* () {
      const log: Array<unknown> = []
      const api = yield* startApi({ log })
      const write = { path: "/v1/mandates", key: api.key, idempotencyKey: "first", body: mandateBody() }
      const created = yield* api.send(write)
      assert.strictEqual(created.status, 201, created.body)
      const mandate = JSON.parse(created.body)
      assert.strictEqual(mandate.state, "PENDING_APPROVAL")
      assert.strictEqual(created.headers.location, `${BASE_URL}/v1/mandates/${mandate.id}`)
      assert.notProperty(created.headers, "idempotency-replayed")
      const replay = yield* api.send({ ...write, body: JSON.stringify(mandateBody(), null, 1) })
      assert.strictEqual(replay.status, 201)
      assert.strictEqual(replay.headers["idempotency-replayed"], "true")
      assert.strictEqual(JSON.parse(replay.body).id, mandate.id)
      const reused = yield* api.send({ ...write, body: mandateBody({ subject_reference: "other" }) })
      assertProblem(reused, 409, "idempotency_key_reused")
      const read = yield* api.send({ path: `/v1/mandates/${mandate.id}`, key: api.key })
      assert.deepStrictEqual(JSON.parse(read.body), mandate)
      assert.include(log.at(-1), {
        route: "/v1/mandates/{mandate_id}",
        mandate_id: mandate.id,
        organization_id: api.organization.id
      })
      assert.notInclude(JSON.stringify(log), api.key)
    })
  )

  it.live("shows the journal byte for byte, and signed evidence", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const write = { path: "/v1/mandates", key: api.key, idempotencyKey: "k", body: mandateBody() }
      const { id } = JSON.parse((yield* api.send(write)).body)
      const events = yield* api.send({ path: `/v1/mandates/${id}/events`, key: api.key })
      assert.match(events.body, /^\{"data":\[\{"data":\{/u)
      assert.strictEqual(JSON.parse(events.body).data[0].type, "mandate.created")
      const evidence = yield* api.send({ path: `/v1/mandates/${id}/evidence`, key: api.key })
      assert.strictEqual(evidence.headers["content-type"], "application/jose+json")
      assert.strictEqual(JSON.parse(evidence.body).format, "svc.evidence.v1")
    })
  )

  it.live("revokes a mandate, and answers 200 to a repeat under another key", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const write = { path: "/v1/mandates", key: api.key, idempotencyKey: "k", body: mandateBody() }
      const { id } = JSON.parse((yield* api.send(write)).body)
      const revoke = {
        method: "PUT",
        path: `/v1/mandates/${id}/revocation`,
        key: api.key,
        body: { reason: "lost" }
      }
      const first = yield* api.send({ ...revoke, idempotencyKey: "a" })
      assert.strictEqual(first.status, 200, first.body)
      assert.notProperty(first.headers, "location")
      assert.strictEqual((yield* api.send({ ...revoke, idempotencyKey: "b" })).status, 200)
      const conflict = yield* api.send({ ...revoke, idempotencyKey: "c", body: { reason: "other" } })
      const problem = assertProblem(conflict, 409, "state_conflict")
      assert.strictEqual(problem.current_state, "REVOKED")
      assert.strictEqual(problem.resource_id, id)
      assert.strictEqual(problem.instance, "/v1/mandates/{mandate_id}/revocation")
    })
  )

  it.live("answers mandates of another organization exactly like absent ones", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const write = { path: "/v1/mandates", key: api.key, idempotencyKey: "k", body: mandateBody() }
      const { id } = JSON.parse((yield* api.send(write)).body)
      for (const mandate of [id, "mnd_00000000000000000000000000", "mnd_x", "%00", "a%2Fb", "%F0%9F%98%80"]) {
        for (const rest of ["", "/authorizations", "/events", "/periods", "/evidence"]) {
          const answer = yield* api.send({ path: `/v1/mandates/${mandate}${rest}`, key: api.otherKey })
          assertProblem(answer, 404, "not_found")
        }
        const revoke = { method: "PUT", key: api.otherKey, idempotencyKey: "k", body: { reason: "x" } }
        assertProblem(
          yield* api.send({ ...revoke, path: `/v1/mandates/${mandate}/revocation` }),
          404,
          "not_found"
        )
      }
    })
  )

  it.live("answers a proposal before approval with DENY and a Location", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const write = { path: "/v1/mandates", key: api.key, idempotencyKey: "k", body: mandateBody() }
      const { id } = JSON.parse((yield* api.send(write)).body)
      const proposed = yield* api.send({
        path: `/v1/mandates/${id}/authorizations`,
        key: api.key,
        idempotencyKey: "p",
        body: {
          external_reference: "order-1",
          proposed_action: { action: "card.create", payment: { amount: 100, currency: "EUR" } },
          execution_window_seconds: 60,
          commitment: "A".repeat(43)
        }
      })
      assert.strictEqual(proposed.status, 201, proposed.body)
      const authorization = JSON.parse(proposed.body)
      assert.strictEqual(authorization.decision, "DENY")
      assert.strictEqual(proposed.headers.location, `${BASE_URL}/v1/authorizations/${authorization.id}`)
      const read = yield* api.send({ path: `/v1/authorizations/${authorization.id}`, key: api.key })
      assert.deepStrictEqual(JSON.parse(read.body), authorization)
      const list = yield* api.send({ path: `/v1/mandates/${id}/authorizations?state=DENIED`, key: api.key })
      assert.deepStrictEqual(JSON.parse(list.body).data, [authorization])
    })
  )
})

describe("POST .../cancellation (part 5)", () => {
  const pointersOf = (problem: { readonly errors: ReadonlyArray<{ readonly pointer: string }> }) =>
    problem.errors.map(({ pointer }) => pointer)

  it.live("requires the disabled credential, whatever else is wrong", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const cancel = (body: object) =>
        api.send({
          method: "PUT",
          path: "/v1/authorizations/aut_00000000000000000000000000/cancellation",
          key: api.key,
          idempotencyKey: "k",
          body: { execution_disposition: "NO_LONGER_POSSIBLE", ...body }
        })
      const credential = "/external_credential_reference"
      const alone = assertProblem(yield* cancel({ reason: "DUPLICATE" }), 422, "validation_failed")
      assert.deepStrictEqual(pointersOf(alone), [credential])
      const both = assertProblem(yield* cancel({ reason: "OTHER" }), 422, "validation_failed")
      assert.deepStrictEqual(pointersOf(both), ["/reason", credential])
      const empty = assertProblem(
        yield* cancel({ reason: "DUPLICATE", external_credential_reference: "" }),
        422,
        "validation_failed"
      )
      assert.deepStrictEqual(pointersOf(empty), [credential])
      const whole = yield* cancel({ reason: "DUPLICATE", external_credential_reference: "c" })
      assertProblem(whole, 404, "not_found")
    })
  )
})

describe("passkeys of a subject (part 6)", () => {
  it.live("are an empty list for an unknown reference, and not found for a malformed one", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const { key } = api
      for (const reference of ["u", "a%2Fb", "%F0%9F%98%80".repeat(255), "a;b"]) {
        const answer = yield* api.send({ path: `/v1/subjects/${reference}/passkeys`, key })
        assert.strictEqual(answer.status, 200, reference)
      }
      for (const reference of ["%00", "a".repeat(256)]) {
        const answer = yield* api.send({ path: `/v1/subjects/${reference}/passkeys`, key })
        assertProblem(answer, 404, "not_found")
      }
      const surrogate = yield* api.send({ path: "/v1/subjects/%ED%A0%80/passkeys", key })
      assertProblem(surrogate, 400, "malformed_request")
    })
  )

  it.live("are retired without a body, or with one that has no members", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const retire = {
        method: "DELETE",
        key: api.key,
        path: "/v1/subjects/u/passkeys/psk_00000000000000000000000000"
      }
      assertProblem(yield* api.send(retire), 404, "not_found")
      assertProblem(yield* api.send({ ...retire, body: {} }), 404, "not_found")
      const problem = assertProblem(yield* api.send({ ...retire, body: { a: 1 } }), 422, "validation_failed")
      assert.strictEqual(`${problem.errors[0].code} ${problem.errors[0].pointer}`, "unknown_member /a")
      assertProblem(yield* api.send({ ...retire, path: `${retire.path}?x=1` }), 400, "malformed_request")
    })
  )
})

describe("public routes (part 9)", () => {
  it.live("GET /.well-known/jwks.json is cacheable and conditional", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const answer = yield* api.send({ path: "/.well-known/jwks.json" })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers["cache-control"], "public, max-age=300")
      const { keys } = JSON.parse(answer.body)
      assert.sameMembers(Object.keys(keys[0]), ["kty", "crv", "use", "alg", "kid", "x", "y"])
      const { etag } = answer.headers
      for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
        const again = yield* api.send({ path: "/.well-known/jwks.json", lines: [`If-None-Match: ${tag}`] })
        assert.strictEqual(again.status, 304)
        assert.strictEqual(again.body, "")
        assert.strictEqual(again.headers.etag, etag)
        assert.strictEqual(again.headers["cache-control"], "public, max-age=300")
      }
      const other = yield* api.send({ path: "/.well-known/jwks.json", lines: ['If-None-Match: "x"'] })
      assert.strictEqual(other.status, 200)
    })
  )

  it.live("GET /healthz and GET /readyz answer", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      for (const path of ["/healthz", "/readyz"]) {
        assert.strictEqual((yield* api.send({ path })).body, '{"status":"ok"}')
      }
      assertProblem(yield* api.send({ path: "/healthz?x=1" }), 400, "malformed_request")
    })
  )

  it.live("GET /readyz says why it is not ready, but not why the store fails", () =>
    Effect.gen(function* () {
      const secret = "postgres://user:password@db"
      for (const [health, detail] of [
        [
          Effect.succeed(["Migrations are pending: a.", "It is late."]),
          "Migrations are pending: a. It is late."
        ],
        [Effect.fail(new StoreUnavailable({ cause: secret })), "The store cannot be reached."]
      ] as const) {
        const api = yield* startApi({ health })
        const answer = yield* api.send({ path: "/readyz" })
        assertProblem(answer, 503, "store_unavailable")
        assert.strictEqual(JSON.parse(answer.body).detail, detail)
        assert.strictEqual(answer.headers["retry-after"], "1")
        assert.strictEqual((yield* api.send({ path: "/healthz" })).status, 200)
      }
    })
  )

  it.live("GET /openapi.json names every route, its problems and the webhooks", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const document = JSON.parse((yield* api.send({ path: "/openapi.json" })).body)
      assert.match(document.openapi, /^3\.1/u)
      assert.property(document.webhooks, "mandate.approved")
      assert.include(document.webhooks["endpoint.test"].post.description, "def is_authentic(")
      assert.include(document.components.schemas.WebhookEvent.properties.type.enum, "endpoint.test")
      assert.strictEqual(document.servers[0].url, BASE_URL)
      const create = document.paths["/v1/mandates"].post
      assert.deepStrictEqual(create.security, [{ api_key: ["write"] }])
      assert.strictEqual(create.responses["409"].$ref, "#/components/responses/IdempotencyKeyReused")
      assert.include(create.responses["403"].description, "scope_insufficient")
      assert.deepStrictEqual(document.paths["/.well-known/jwks.json"].get.security, [])
      assert.property(
        document.paths["/v1/mandates/{mandate_id}/evidence"].get.responses["200"].content,
        "application/jose+json"
      )
      assert.notInclude(JSON.stringify(document), "Infinity")
    })
  )

  it.live("GET /openapi.json requires an idempotency key exactly where the API does", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const document = JSON.parse((yield* api.send({ path: "/openapi.json" })).body)
      let required = 0
      for (const [path, operations] of Object.entries<Record<string, Operation>>(document.paths)) {
        for (const [method, { parameters = [], responses }] of Object.entries(operations)) {
          const key = parameters.find(({ name }) => name.toLowerCase() === "idempotency-key")
          const told = responses["400"]?.description?.includes("idempotency_key_required") ?? false
          assert.strictEqual(told, key?.required === true, `${method} ${path}`)
          if (told) required++
        }
      }
      // Those that part 3 names.
      assert.strictEqual(required, 8)
    })
  )

  it.live("GET /docs and the problem pages are HTML without foreign resources", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const docs = yield* api.send({ path: "/docs" })
      assert.strictEqual(docs.status, 200)
      assert.match(docs.headers["content-type"] ?? "", /^text\/html/u)
      assert.strictEqual(docs.headers["cache-control"], "public, max-age=300")
      const policy = docs.headers["content-security-policy"] ?? ""
      assert.include(policy, "default-src 'none'; script-src 'self'; style-src 'self'")
      assert.notInclude(policy, "unsafe")
      assert.notInclude(docs.body, "Bearer svc_test_")
      const loaded = [...docs.body.matchAll(/(?:src|<link[^>]*href)="([^"]*)"/gu)].map(([, url]) => url!)
      assert.strictEqual(loaded.length, 3)
      for (const path of loaded) {
        const asset = yield* api.send({ path })
        assert.strictEqual(asset.status, 200, path)
        assert.strictEqual(asset.headers["cache-control"], "public, max-age=31536000, immutable")
      }
      const again = yield* api.send({ path: "/docs", lines: [`If-None-Match: ${docs.headers.etag}`] })
      assert.strictEqual(again.status, 304)
      const page = yield* api.send({ path: "/problems/state-conflict", lines: ["Accept: text/html"] })
      assert.strictEqual(page.status, 200)
      assert.include(page.body, "state_conflict")
      assert.include(page.body, "<h2>Remedy</h2>")
      assert.include(page.body, "&quot;status&quot;: 409")
      assertProblem(yield* api.send({ path: "/problems/nothing" }), 404, "not_found")
    })
  )

  it.live(
    "GET /docs shows the sample API key under the server's own host name alone, and forbids caching",
    () =>
      Effect.gen(function* () {
        const api = yield* startApi({ sampleApiKey: "svc_test_example" })
        const own = yield* api.send({ path: "/docs" })
        assert.include(own.body, "Authorization: Bearer svc_test_example")
        assert.strictEqual(own.headers["cache-control"], "private, no-store")
        const lines = ["GET /docs HTTP/1.1", "Host: elsewhere.example"]
        const rebound = yield* Effect.promise(() => ask(api.port, lines))
        assert.strictEqual(rebound.status, 200)
        assert.notInclude(rebound.body, "svc_test_example")
        for (const { body } of [own, rebound]) assert.include(body, "http://localhost:10000/return")
      })
  )

  it.live("GET / redirects to the reference, and GET /favicon.ico answers", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const entrance = yield* api.send({ path: "/" })
      assert.deepStrictEqual([entrance.status, entrance.headers.location], [302, "/docs"])
      const icon = yield* api.send({ path: "/favicon.ico", lines: ["Accept: image/avif,image/*,*/*;q=0.8"] })
      assert.deepStrictEqual([icon.status, icon.headers["content-type"]], [200, "image/x-icon"])
    })
  )

  it.live("GET /openapi.json and GET /docs are compressed on request, with a tag per encoding", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const tags = new Set<string | undefined>()
      const lengths: Array<number> = []
      for (const coding of ["identity", "gzip", "br"]) {
        const { headers, status } = yield* api.send({ path: "/docs", lines: [`Accept-Encoding: ${coding}`] })
        assert.strictEqual(status, 200)
        assert.strictEqual(headers["content-encoding"], coding === "identity" ? undefined : coding)
        assert.strictEqual(headers.vary, "Accept-Encoding")
        tags.add(headers.etag)
        lengths.push(Number(headers["content-length"]))
      }
      assert.strictEqual(tags.size, 3)
      const [identity, gzip, brotli] = lengths as [number, number, number]
      assert.isBelow(gzip, identity / 4)
      assert.isBelow(brotli, gzip)
      assert.isBelow(brotli, 100_000)
    })
  )
})

describe("an API key that another process revokes (part 9)", () => {
  it.effect("is refused two seconds after its last look-up, at the latest", () =>
    Effect.gen(function* () {
      const store = yield* Layer.build(MemoryStore.layer)
      const api = yield* startApi({ store })
      const send = api.send({ path: "/v1/mandates", key: api.key })
      assert.strictEqual((yield* send).status, 200)
      const organizations = Context.get(store, Organizations)
      const { apiKeys } = yield* organizations.listApiKeys(api.organization.id)
      yield* organizations.putApiKey({ ...apiKeys[0]!, revokedAt: "2026-01-02T00:00:00Z" })
      yield* TestClock.adjust("1999 millis")
      assert.strictEqual((yield* send).status, 200)
      yield* TestClock.adjust("1 millis")
      assertProblem(yield* send, 401, "api_key_invalid")
    })
  )
})

describe("an API key that is revoked while the body arrives (part 9)", () => {
  it.live("is refused", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const socket = yield* Effect.promise(() => openConnection(api.port))
      const body = "{}"
      socket.write(
        [
          "POST /v1/mandates HTTP/1.1",
          "Host: api.example",
          `Authorization: Bearer ${api.key}`,
          "Idempotency-Key: k",
          "Content-Type: application/json",
          `Content-Length: ${body.length}`,
          "Connection: close",
          "\r\n"
        ].join("\r\n")
      )
      yield* Effect.sleep("1200 millis")
      yield* api.revoke(api.key)
      const answer = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            let all = ""
            socket.on("data", (chunk) => {
              all += chunk
            })
            socket.once("close", () => resolve(all))
            socket.write(body)
          })
      )
      assertProblem(parseAnswer(answer), 401, "api_key_invalid")
    })
  )
})
