import { assert, describe, it } from "@effect/vitest"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { WEBHOOK_SECRET_PREFIX } from "@svc/protocol/webhook/WebhookSignature"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Effect, Layer, Metric } from "effect"
import { Canaries } from "./Canaries.ts"
import {
  awaited,
  ENDPOINTS,
  endpointsOf,
  type OpenStore,
  startDelivering,
  storesWith,
  TEST_TIMEOUT_MS,
  toldReceiver
} from "./DeliveringService.ts"
import { bodyOf, type Call, newKey } from "./ServiceUnderTest.ts"
import { tracerTo } from "./SpanTexts.ts"

/** The secret as it is shown, the part of it that is secret, and its bytes. */
const plantSecret = (canaries: Canaries, what: string, secret: string): string => {
  const part = secret.slice(WEBHOOK_SECRET_PREFIX.length)
  canaries.plant(what, secret)
  canaries.plant(what, part)
  canaries.plantBytes(what, decodeBase64Url(part)!)
  return secret
}

/** What nobody listens to. */
const CLOSED = "http://127.0.0.1:1024/"

/** A life of two endpoints: created, rotated, tested, failing, delivered to, redelivered, and shown everywhere. */
const tellStory = Effect.fnUntraced(function* (store: OpenStore) {
  const spans: Array<string> = []
  const observing = Layer.merge(store.options.observing ?? Layer.empty, tracerTo(spans))
  const service = yield* startDelivering(store, { observing })
  const { tenant } = service
  const canaries = new Canaries()
  const answers: Array<RawAnswer> = []
  const say = Effect.fnUntraced(function* (call: Call, status: number) {
    const answer = yield* tenant.send(call)
    answers.push(answer)
    assert.strictEqual(answer.status, status, answer.body)
    return answer
  })
  const receiver = yield* toldReceiver
  const endpoints = endpointsOf(tenant)

  const create = { path: ENDPOINTS, idempotencyKey: newKey(), body: { url: receiver.url } }
  const { id, secret: first } = bodyOf(yield* tenant.send(create), 201)
  plantSecret(canaries, "secret", first)
  const replay = yield* say(create, 201)
  assert.deepInclude(JSON.parse(replay.body), { id, status: "active" })
  const rotate = { method: "PUT", path: `${ENDPOINTS}/${id}/secret`, idempotencyKey: newKey() }
  const second = plantSecret(canaries, "rotated secret", bodyOf(yield* tenant.send(rotate), 200).secret)
  yield* say(rotate, 200)
  const gone = yield* endpoints.register(CLOSED)
  plantSecret(canaries, "secret of an endpoint that is down", gone.secret)

  receiver.answer = () => 500
  const mandate = yield* tenant.activeMandate()
  yield* say({ method: "POST", path: `${ENDPOINTS}/${id}/test` }, 201)
  for (const endpoint of [id, gone.id]) {
    yield* awaited("failures", endpoints.deliveries(endpoint), (all) =>
      all.every(({ attempts }) => attempts.length === 1)
    )
  }
  receiver.answer = () => 204
  yield* store.pass(40)
  const [delivered] = yield* awaited("deliveries", endpoints.deliveries(id), (all) =>
    all.some(({ state }) => state === "delivered")
  ).pipe(Effect.map((all) => all.filter(({ state }) => state === "delivered")))
  yield* say({ method: "POST", path: `${ENDPOINTS}/${id}/deliveries/${delivered!.id}/redelivery` }, 201)

  const path = `${ENDPOINTS}/${second}`
  yield* say({ path }, 404)
  for (const rest of ["reactivation", "secret"]) yield* say({ method: "PUT", path: `${path}/${rest}` }, 404)
  for (const [call, status] of [
    [{ path: `${ENDPOINTS}?${second}=1` }, 400],
    [{ path: `${ENDPOINTS}?cursor=${second}` }, 400],
    [{ path: `${ENDPOINTS}/${id}/deliveries?cursor=${second}` }, 400],
    [{ path: ENDPOINTS, key: second }, 401],
    [{ path: ENDPOINTS, body: { url: second }, idempotencyKey: newKey() }, 422],
    [{ path: ENDPOINTS, body: { url: CLOSED, secret: second }, idempotencyKey: newKey() }, 422],
    [{ path: ENDPOINTS, body: { url: `http://${first}:x@localhost:1024/` }, idempotencyKey: newKey() }, 422],
    [{ path: ENDPOINTS, body: { url: CLOSED, event_types: [second] }, idempotencyKey: newKey() }, 422],
    [{ path: ENDPOINTS, body: { url: CLOSED }, idempotencyKey: `${second} x` }, 400],
    [
      { path: ENDPOINTS, body: { ...create.body, description: "x" }, idempotencyKey: create.idempotencyKey },
      409
    ],
    [{ method: "PUT", path: rotate.path, body: { secret: second } }, 422],
    [{ path: ENDPOINTS }, 200],
    [{ path: `${ENDPOINTS}/${id}` }, 200],
    [{ path: `${ENDPOINTS}/${id}/deliveries` }, 200],
    [{ path: `${ENDPOINTS}/${gone.id}/deliveries` }, 200],
    [{ path: "/v1/events" }, 200],
    [{ path: `/v1/mandates/${mandate.id}` }, 200],
    [{ path: `/v1/mandates/${mandate.id}/events` }, 200],
    [{ path: `/v1/mandates/${mandate.id}/evidence` }, 200],
    [{ path: "/openapi.json" }, 200],
    [{ method: "DELETE", path: `${ENDPOINTS}/${gone.id}` }, 204],
    [{ path: `${ENDPOINTS}/${gone.id}` }, 200]
  ] as const) {
    yield* say(call, status)
  }
  return { answers, canaries, service, spans, endpoint: id, receiver }
})

const server = await openTestDatabase()

for (const { isAbsent, name, open } of storesWith(server)) {
  describe.skipIf(isAbsent)(`a webhook secret (part 8) on ${name}`, { timeout: TEST_TIMEOUT_MS }, () => {
    it.live(
      "is in the answer that creates it alone, and in no other answer, log line, span, metric or row of any table",
      () =>
        Effect.gen(function* () {
          const store = yield* open
          const { answers, canaries, receiver, service, spans } = yield* tellStory(store)
          for (const { body, headers } of answers) {
            assert.deepStrictEqual(canaries.foundIn(body), [], body)
            assert.deepStrictEqual(canaries.foundIn(JSON.stringify(headers)), [])
          }
          for (const { body, head } of receiver.webhooks()) {
            assert.deepStrictEqual(canaries.foundIn(head + body.toString("latin1")), [])
          }
          const log = service.log.join("\n")
          assert.include(log, "webhook attempt")
          for (const line of [...service.log, ...spans])
            assert.deepStrictEqual(canaries.foundIn(line), [], line)
          assert.include(spans.join("\n"), "rotateWebhookSecret")
          assert.deepStrictEqual(canaries.foundIn(yield* Metric.dump), [])
          const tables = yield* store.query(
            `select table_schema || '.' || table_name as name from information_schema.tables
            where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`
          )
          for (const { name: table } of tables) {
            for (const { row } of yield* store.query(
              `select row_to_json(t)::text as row from ${String(table)} t`
            )) {
              assert.deepStrictEqual(canaries.foundIn(String(row)), [], String(table))
            }
          }
          if (tables.length > 0) {
            assert.includeMembers(
              tables.map(({ name: table }) => table),
              ["svc.webhook_endpoint", "svc.claim", "svc.event"]
            )
          }
        })
    )
  })
}
