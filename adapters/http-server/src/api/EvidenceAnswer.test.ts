import { randomBytes } from "node:crypto"
import { get, type IncomingMessage } from "node:http"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { MAX_EVIDENCE_READS } from "@svc/domain/engine/EvidenceReads"
import { verifyEvidenceBytes, verifyEvidenceContinuation } from "@svc/protocol/evidence/EvidenceEnvelope"
import { Effect, Result } from "effect"
import { startApi } from "../../test/ApiUnderTest.ts"

type Api = Effect.Success<ReturnType<typeof startApi>>

const COMMITMENT_BYTES = 32
/** Proposals as long as a request may be, so that the evidence is longer than what sockets hold: about 8 MB. */
const MANY = 100

const attributes = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [`name ${index}`, "\u{1f4b6}".repeat(255)])
)

const makeMandate = Effect.fnUntraced(function* (api: Api, proposals = 0) {
  const body = {
    kind: "SINGLE",
    subject_reference: "user_1",
    policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
    window: { ends_at: "2035-01-01T00:00:00Z" }
  }
  const made = yield* api.send({ path: "/v1/mandates", key: api.key, idempotencyKey: "mandate", body })
  const path = `/v1/mandates/${JSON.parse(made.body).id}`
  for (let number = 0; number < proposals; number++) {
    const proposal = {
      external_reference: `order ${number}`,
      proposed_action: { action: "card.create", attributes, payment: { amount: 1, currency: "EUR" } },
      execution_window_seconds: 60,
      commitment: randomBytes(COMMITMENT_BYTES).toString("base64url")
    }
    const request = {
      path: `${path}/authorizations`,
      key: api.key,
      idempotencyKey: `key ${number}`.replace(" ", "-")
    }
    assert.strictEqual((yield* api.send({ ...request, body: proposal })).status, 201)
  }
  return path
})

/** A response whose body nobody has read yet. */
const ask = (
  { key, port }: Api,
  path: string,
  { headers = {}, method = "GET" }: { readonly headers?: object; readonly method?: string } = {}
): Effect.Effect<IncomingMessage> =>
  Effect.promise(
    () =>
      new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port, path, method, agent: false }
        get({ ...options, headers: { authorization: `Bearer ${key}`, ...headers } }, resolve).on(
          "error",
          reject
        )
      })
  )

const bytesOf = (response: IncomingMessage) =>
  Effect.promise(async () => {
    const chunks: Array<Buffer> = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks)
  })

const keySetOf = (api: Api) =>
  Effect.map(api.send({ path: "/.well-known/jwks.json" }), ({ body }) => JSON.parse(body))

const GZIP = { headers: { "accept-encoding": "gzip" } }

for (const [name, proposals] of [
  ["short", 0],
  ["long", MANY]
] as const) {
  describe(`${name} evidence over HTTP (part 7)`, () => {
    it.live("is the same compressed once as uncompressed, by the reader's choice", () =>
      Effect.gen(function* () {
        const api = yield* startApi()
        const path = `${yield* makeMandate(api, proposals)}/evidence`
        const keySet = yield* keySetOf(api)
        const payloadOf = (bytes: Uint8Array) => Result.getOrThrow(verifyEvidenceBytes(bytes, keySet)).payload
        const plain = yield* ask(api, path)
        const compressed = yield* ask(api, path, GZIP)
        assert.isUndefined(plain.headers["content-encoding"])
        assert.strictEqual(compressed.headers["content-encoding"], "gzip")
        for (const { headers, statusCode } of [plain, compressed]) {
          assert.strictEqual(statusCode, 200)
          assert.strictEqual(headers.vary, "Accept-Encoding")
          assert.strictEqual(headers["cache-control"], "no-store")
          assert.strictEqual(headers["content-type"], "application/jose+json")
        }
        const [whole, sent] = [yield* bytesOf(plain), yield* bytesOf(compressed)]
        assert.isBelow(sent.length, whole.length)
        const { generated_at: _, ...rest } = payloadOf(gunzipSync(sent))
        assert.deepInclude(payloadOf(whole), rest)
        assert.strictEqual((rest.events as ReadonlyArray<unknown>).length, proposals + 1)
        for (const refused of ["identity", "gzip;q=0", "br", "deflate", "gzip;q=0.1, identity"]) {
          const response = yield* ask(api, path, { headers: { "accept-encoding": refused } })
          assert.isUndefined(response.headers["content-encoding"], refused)
          response.destroy()
        }
      })
    )

    it.live("answers HEAD without a body, and leaves its place to others", () =>
      Effect.gen(function* () {
        const api = yield* startApi()
        const path = `${yield* makeMandate(api, proposals)}/evidence`
        for (let count = 0; count <= MAX_EVIDENCE_READS; count++) {
          const response = yield* ask(api, path, { ...GZIP, method: "HEAD" })
          assert.strictEqual(response.statusCode, 200)
          assert.strictEqual((yield* bytesOf(response)).length, 0)
        }
        assert.strictEqual((yield* ask(api, path)).statusCode, 200)
      })
    )
  })
}

describe("readers of evidence who do not read (part 7)", () => {
  it.live("take the places of their organization until they leave, and hold up nobody else", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const path = `${yield* makeMandate(api, MANY)}/evidence`
      const stalled = yield* Effect.forEach(Array.from({ length: MAX_EVIDENCE_READS }), () => ask(api, path))
      const isDown = Effect.map(ask(api, path), (response) => {
        response.destroy()
        return response.statusCode === 503 && response.headers["retry-after"] === "1"
      })
      assert.isTrue(yield* isDown)
      assert.strictEqual((yield* api.send({ path: path.replace("/evidence", ""), key: api.key })).status, 200)
      for (const response of stalled) response.destroy()
      while (yield* isDown) yield* Effect.sleep("10 millis")
      const keySet = yield* keySetOf(api)
      const bytes = yield* Effect.flatMap(ask(api, path), bytesOf)
      assert.isTrue(Result.isSuccess(verifyEvidenceBytes(bytes, keySet)))
    })
  )
})

describe("GET /v1/mandates/{mandate_id}/evidence?after_seq= (part 7)", () => {
  it.live("answers a signed continuation", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const path = `${yield* makeMandate(api, 1)}/evidence`
      const answer = yield* api.send({ path: `${path}?after_seq=1`, key: api.key })
      const envelope = JSON.parse(answer.body)
      assert.strictEqual(envelope.format, "svc.evidence.continuation.v1")
      const { payload } = Result.getOrThrow(verifyEvidenceContinuation(envelope, yield* keySetOf(api)))
      const [event] = payload.events as ReadonlyArray<{
        readonly seq: number
        readonly previous_hash: string
      }>
      assert.deepStrictEqual(payload.after, { seq: 1, hash: event!.previous_hash })
      assert.strictEqual(event?.seq, 2)
    })
  )

  it.live("refuses what is no seq, and one that the journal does not have", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      const path = `${yield* makeMandate(api)}/evidence`
      const refused = (query: string) =>
        Effect.map(api.send({ path: `${path}?${query}`, key: api.key }), ({ body, status }) => [
          status,
          JSON.parse(body).code
        ])
      for (const text of ["0", "", "-1", "+1", "1.0", "1e1", "%201", "9007199254740993", "1&after_seq=1"]) {
        assert.deepStrictEqual(yield* refused(`after_seq=${text}`), [400, "malformed_request"], text)
      }
      assert.deepStrictEqual(yield* refused("afterSeq=1"), [400, "malformed_request"])
      assert.deepStrictEqual(yield* refused("after_seq=2"), [400, "invalid_cursor"])
    })
  )
})
