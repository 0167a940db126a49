import { assert, describe, it } from "@effect/vitest"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"
import { verifyWebhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Effect, Result } from "effect"
import {
  awaited,
  ENDPOINTS,
  endpointsOf,
  eventually,
  type ShownDelivery,
  startDelivering,
  startWorker,
  storesWith,
  TEST_TIMEOUT_MS,
  toldReceiver,
  type Webhook
} from "./DeliveringService.ts"
import { bodyOf, newKey, startService } from "./ServiceUnderTest.ts"

/*
 * What its operator does to a webhook endpoint, while attempts are under way, through the whole service. Names of public
 * reports stand for faults of other systems. Those that are not here are in
 *
 *   stripe-node 494, github docs 3567, stripe-php 657, inkbox 144     WebhookReplay.test.ts
 *   formbricks 7877                                                   WebhookTargets.test.ts
 *   graphile worker 204                                               WebhookWorkers.test.ts
 */

/** Longer than the first retry waits, and longer than a reactivation spreads, in seconds. */
const A_RETRY = 40
const A_SPREAD = 60
const A_WEEK = 604_800

/** Failed attempts in a row at which an endpoint is disabled. */
const DISABLING = 20

/** Attempts that a delivery has. */
const ATTEMPTS = 9
/** Longer than the longest pause between two of them, in seconds. */
const A_LONG_PAUSE = 61_000

const ABSENT_DELIVERY = "dlv_00000000000000000000000000"

/** Whether a receiver with this secret takes it for ours, at the instant that it says itself. */
const isSignedWith = (secret: string, { body, signature }: Webhook): boolean => {
  const now = Number(/^t=(\d+)/u.exec(signature)?.[1])
  return Result.isSuccess(verifyWebhookSignature({ secret, header: signature, body, now }))
}

const conflictOf = (answer: RawAnswer) => {
  const { code, current_state, resource_id } = bodyOf(answer, 409)
  return { code, current_state, resource_id }
}

const conflict = (current_state: string, resource_id: string) => ({
  code: "state_conflict",
  current_state,
  resource_id
})

const statesOf = (deliveries: ReadonlyArray<ShownDelivery>) => deliveries.map(({ state }) => state)

const server = await openTestDatabase()

for (const { isAbsent, name, open } of storesWith(server)) {
  /** A service with one endpoint, and the receiver behind it. */
  const begin = Effect.gen(function* () {
    const store = yield* open
    const { other, tenant } = yield* startDelivering(store)
    const receiver = yield* toldReceiver
    const endpoints = endpointsOf(tenant)
    const endpoint = yield* endpoints.register(receiver.url)
    /** Asks until the endpoint's deliveries are as they should be. */
    const deliveries = (holds: (deliveries: ReadonlyArray<ShownDelivery>) => boolean) =>
      awaited("deliveries", endpoints.deliveries(endpoint.id), holds)
    return { store, other, tenant, receiver, endpoints, endpoint, deliveries }
  })

  type World = Effect.Success<typeof begin>

  /** One event whose attempt is under way, while so many others fail that the endpoint is disabled. */
  const disableInMidAttempt = Effect.fnUntraced(function* (world: World) {
    const { endpoint, endpoints, receiver, tenant } = world
    receiver.answer = ({ type }) => (type === "endpoint.test" ? 500 : "hold")
    yield* tenant.newMandate()
    yield* eventually("the attempt", () => receiver.held() === 1)
    const tests = Array.from({ length: DISABLING }, () => endpoints.test(endpoint.id))
    for (const answer of yield* Effect.all(tests, { concurrency: "unbounded" })) bodyOf(answer, 201)
    return yield* awaited("disabled", endpoints.read(endpoint.id), ({ status }) => status === "disabled")
  })

  describe.skipIf(isAbsent)(`a webhook endpoint (part 8) on ${name}`, { timeout: TEST_TIMEOUT_MS }, () => {
    it.live(
      "rotated between retries signs the next attempt with the new secret alone (resend/resend-openapi#114)",
      () =>
        Effect.gen(function* () {
          const { deliveries, endpoint, endpoints, receiver, store, tenant } = yield* begin
          receiver.answer = () => "hold"
          yield* tenant.newMandate()
          yield* eventually("the first attempt", () => receiver.held() === 1)
          const rotated = bodyOf(yield* endpoints.rotate(endpoint.id), 200)
          receiver.release(503)
          yield* deliveries(([delivery]) => delivery?.attempts.length === 1)
          receiver.answer = () => 204
          yield* store.pass(A_RETRY)
          yield* deliveries(([delivery]) => delivery?.state === "delivered")
          const [first, second, ...others] = receiver.webhooks()
          assert.deepStrictEqual(others, [])
          assert.deepStrictEqual(second!.body, first!.body)
          assert.isTrue(isSignedWith(endpoint.secret, first!))
          assert.isTrue(isSignedWith(rotated.secret, second!))
          assert.isFalse(isSignedWith(endpoint.secret, second!))
          assert.match(second!.signature, /^t=\d+,v1=[0-9a-f]{64}$/u)
          assert.lengthOf(second!.head.match(/^svc-signature:/gim) ?? [], 1)
        })
    )

    it.live(
      "disabled during an attempt records it, freezes the other deliveries, and resumes them on reactivation (frain-dev/convoy#1092, #1667)",
      () =>
        Effect.gen(function* () {
          const world = yield* begin
          const { deliveries, endpoint, endpoints, receiver, store, tenant } = world
          const disabled = yield* disableInMidAttempt(world)
          assert.deepInclude(disabled, {
            disabled_reason: "consecutive_failed_attempts",
            consecutive_failed_attempts: DISABLING,
            consecutive_exhausted_deliveries: 0
          })
          yield* tenant.newMandate()
          const waiting = (yield* endpoints.deliveries(endpoint.id)).filter(
            ({ event_type }) => event_type !== "endpoint.test"
          )
          assert.deepStrictEqual(statesOf(waiting), ["frozen", "frozen"])
          for (const delivery of waiting) assert.notProperty(delivery, "next_attempt_at")
          const [later, underWay] = waiting
          receiver.release(204)
          yield* deliveries((all) =>
            all.some(({ id, state }) => id === underWay!.id && state === "delivered")
          )
          assert.strictEqual((yield* endpoints.read(endpoint.id)).status, "disabled")

          const byEndpoint = conflict("disabled", endpoint.id)
          assert.deepStrictEqual(conflictOf(yield* endpoints.test(endpoint.id)), byEndpoint)
          for (const { id } of waiting) {
            assert.deepStrictEqual(conflictOf(yield* endpoints.redeliver(endpoint.id, id)), byEndpoint)
          }
          yield* store.pass(A_RETRY)
          receiver.answer = () => 204
          const before = receiver.webhooks().length
          const active = bodyOf(yield* endpoints.reactivate(endpoint.id), 200)
          assert.deepInclude(active, {
            status: "active",
            consecutive_failed_attempts: 0,
            consecutive_exhausted_deliveries: 0
          })
          assert.notProperty(active, "disabled_reason")
          yield* store.pass(A_SPREAD)
          yield* deliveries((all) => all.some(({ id, state }) => id === later!.id && state === "delivered"))
          assert.deepStrictEqual(
            receiver
              .webhooks()
              .slice(before)
              .map(({ id }) => id),
            [later!.event_id]
          )
        })
    )

    it.live("reactivated during an attempt records its result without counting it", () =>
      Effect.gen(function* () {
        const world = yield* begin
        const { deliveries, endpoint, endpoints, receiver, store } = world
        yield* disableInMidAttempt(world)
        bodyOf(yield* endpoints.reactivate(endpoint.id), 200)
        receiver.release(500)
        const ended = yield* deliveries((all) =>
          all.some(({ event_type, attempts }) => event_type === "mandate.created" && attempts.length === 1)
        )
        assert.strictEqual(ended.find(({ event_type }) => event_type === "mandate.created")?.state, "pending")
        assert.deepInclude(yield* endpoints.read(endpoint.id), {
          status: "active",
          consecutive_failed_attempts: 0
        })
        // Begun after it, the next one counts; and reactivating an active endpoint changes nothing.
        yield* store.pass(A_RETRY)
        yield* eventually("the next attempt", () => receiver.held() === 1)
        receiver.release(500)
        const counted = yield* awaited(
          "a counter",
          endpoints.read(endpoint.id),
          ({ consecutive_failed_attempts }) => consecutive_failed_attempts === 1
        )
        assert.deepStrictEqual(bodyOf(yield* endpoints.reactivate(endpoint.id), 200), counted)
      })
    )

    it.live(
      "deleted during an attempt records it and is sent nothing afterwards (svix/svix-webhooks#1511)",
      () =>
        Effect.gen(function* () {
          const { deliveries, endpoint, endpoints, receiver, store, tenant } = yield* begin
          const second = yield* toldReceiver
          yield* endpoints.register(second.url)
          receiver.answer = () => "hold"
          yield* tenant.newMandate()
          yield* eventually("the attempt", () => receiver.held() === 1)
          assert.strictEqual((yield* endpoints.remove(endpoint.id)).status, 204)
          receiver.release(500)
          const [cancelled] = yield* deliveries(([delivery]) => delivery?.attempts.length === 1)
          assert.strictEqual(cancelled!.state, "cancelled")
          assert.notProperty(cancelled, "next_attempt_at")
          yield* store.pass(A_WEEK)
          yield* tenant.newMandate()
          yield* eventually("the other endpoint's", () => second.webhooks().length === 2)
          assert.lengthOf(receiver.webhooks(), 1)

          assert.strictEqual((yield* endpoints.remove(endpoint.id)).status, 204)
          const gone = yield* endpoints.read(endpoint.id)
          assert.deepInclude(gone, { status: "deleted", consecutive_failed_attempts: 0 })
          assert.notProperty(gone, "secret")
          assert.lengthOf((yield* tenant.get(ENDPOINTS)).data, 1)
          const byEndpoint = conflict("deleted", endpoint.id)
          for (const answer of [
            yield* endpoints.reactivate(endpoint.id),
            yield* endpoints.rotate(endpoint.id),
            yield* endpoints.test(endpoint.id),
            yield* endpoints.redeliver(endpoint.id, cancelled!.id)
          ]) {
            assert.deepStrictEqual(conflictOf(answer), byEndpoint)
          }
        })
    )

    it.live("is limited to five, also when six are created at once, and deletion makes room", () =>
      Effect.gen(function* () {
        const { tenant } = yield* startDelivering(yield* open)
        const make = Effect.suspend(() => tenant.write("POST", ENDPOINTS, { url: "http://127.0.0.1:19999/" }))
        const answers = yield* Effect.all(Array(6).fill(make) as ReadonlyArray<typeof make>, {
          concurrency: "unbounded"
        })
        const refused = answers.filter(({ status }) => status !== 201)
        assert.lengthOf(refused, 1)
        assert.strictEqual(bodyOf(refused[0]!, 409).code, "webhook_endpoint_limit_reached")
        const { data } = yield* tenant.get(ENDPOINTS)
        assert.lengthOf(data, 5)
        yield* endpointsOf(tenant).remove(data[0].id)
        bodyOf(yield* make, 201)
      })
    )

    it.live(
      "redelivers what was delivered or exhausted, once per idempotency key, with the same event and the same bytes",
      () =>
        Effect.gen(function* () {
          const { deliveries, endpoint, endpoints, receiver, tenant } = yield* begin
          yield* tenant.newMandate()
          const [delivered] = yield* deliveries(([delivery]) => delivery?.state === "delivered")
          const path = `${ENDPOINTS}/${endpoint.id}/deliveries/${delivered!.id}/redelivery`
          const call = { method: "POST", path, idempotencyKey: newKey() }
          const again = bodyOf(yield* tenant.send(call), 201)
          assert.notStrictEqual(again.id, delivered!.id)
          assert.deepInclude(again, { event_id: delivered!.event_id, event_type: "mandate.created" })
          yield* deliveries((all) => all.length === 2 && all.every(({ state }) => state === "delivered"))
          const replay = yield* tenant.send(call)
          assert.deepInclude(bodyOf(replay, 201), { id: again.id, state: "delivered" })
          assert.strictEqual(replay.headers["idempotency-replayed"], "true")
          const [first, second, ...others] = receiver.webhooks()
          assert.deepStrictEqual([second!.body, others], [first!.body, []])

          receiver.answer = () => 500
          const test = bodyOf(yield* endpoints.test(endpoint.id), 201)
          yield* deliveries((all) => all.some(({ id, state }) => id === test.id && state === "exhausted"))
          receiver.answer = () => "hold"
          const repeated = bodyOf(yield* endpoints.redeliver(endpoint.id, test.id), 201)
          assert.deepInclude(repeated, {
            event_id: test.event_id,
            event_type: "endpoint.test",
            state: "pending"
          })
          yield* eventually("the test again", () => receiver.held() === 1)
          assert.deepStrictEqual(receiver.webhooks().at(-1)!.body, receiver.webhooks().at(-2)!.body)
          const pending = conflict("pending", repeated.id)
          assert.deepStrictEqual(conflictOf(yield* endpoints.redeliver(endpoint.id, repeated.id)), pending)
          receiver.release(204)

          for (const id of [ABSENT_DELIVERY, "dlv_x", endpoint.id]) {
            assert.strictEqual(bodyOf(yield* endpoints.redeliver(endpoint.id, id), 404).code, "not_found")
          }
          const beside = yield* endpoints.register(receiver.url)
          bodyOf(yield* endpoints.redeliver(beside.id, delivered!.id), 404)
        })
    )

    it.live("lists its deliveries in every state, in pages, with cursors of its own", () =>
      Effect.gen(function* () {
        const world = yield* begin
        const { deliveries, endpoint, endpoints, other, receiver, tenant } = world
        yield* tenant.newMandate()
        yield* deliveries(([delivery]) => delivery?.state === "delivered")
        receiver.answer = () => 410
        yield* tenant.newMandate()
        yield* deliveries(([delivery]) => delivery?.attempts.length === 1)
        yield* endpoints.test(endpoint.id)
        const all = yield* deliveries(([delivery]) => delivery?.state === "exhausted")
        assert.deepStrictEqual(statesOf(all), ["exhausted", "pending", "delivered"])
        const attempt = (status: number, { attempts }: ShownDelivery) => ({
          at: attempts[0]!.at,
          status,
          duration_ms: attempts[0]!.duration_ms
        })
        const [exhausted, pending, delivered] = all as [ShownDelivery, ShownDelivery, ShownDelivery]
        for (const [one, event_type, attempts] of [
          [exhausted, "endpoint.test", [attempt(410, exhausted)]],
          [pending, "mandate.created", [attempt(410, pending)]],
          [delivered, "mandate.created", [attempt(204, delivered)]]
        ] as const) {
          const { event_id, id, next_attempt_at, state } = one
          assert.match(id, /^dlv_[0-9a-hjkmnp-tv-z]{26}$/u)
          assert.match(event_id, /^evt_[0-9a-hjkmnp-tv-z]{26}$/u)
          const shown = { id, state, event_id, event_type, attempts }
          assert.deepStrictEqual(one, next_attempt_at === undefined ? shown : { ...shown, next_attempt_at })
          assert.isTrue(Number.isInteger(attempts[0].duration_ms) && attempts[0].duration_ms >= 0)
          for (const at of [attempts[0].at, next_attempt_at ?? attempts[0].at]) {
            assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/u)
          }
        }
        assert.deepStrictEqual(
          all.map((delivery) => "next_attempt_at" in delivery),
          [false, true, false]
        )

        const path = `${ENDPOINTS}/${endpoint.id}/deliveries`
        const seen: Array<ShownDelivery> = []
        let [cursor, pages] = ["", 0]
        for (; pages < 5; pages++) {
          const page = yield* tenant.get(`${path}?limit=1${cursor}`)
          seen.push(...page.data)
          assert.strictEqual(page.has_more, page.next_cursor !== null)
          if (!page.has_more) break
          cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
        }
        assert.deepStrictEqual([seen, pages], [all, 2])
        const beside = yield* endpoints.register(receiver.url)
        for (const [query, code] of [
          [cursor, "invalid_cursor"],
          ["&cursor=x", "invalid_cursor"],
          ["&cursor=", "invalid_cursor"],
          ["&limit=0", "malformed_request"],
          ["&limit=101", "malformed_request"],
          ["&state=pending", "malformed_request"]
        ] as const) {
          const answer = yield* tenant.send({
            path: `${ENDPOINTS}/${beside.id}/deliveries?${query.slice(1)}`
          })
          assert.strictEqual(bodyOf(answer, 400).code, code, query)
        }
        bodyOf(yield* other.send({ path: `${path}?limit=1` }), 404)
        assert.strictEqual(
          bodyOf(yield* other.send({ path: `${path}?${cursor.slice(1)}` }), 400).code,
          "invalid_cursor"
        )
        yield* endpoints.remove(endpoint.id)
        assert.deepStrictEqual(statesOf(yield* endpoints.deliveries(endpoint.id)), [
          "exhausted",
          "cancelled",
          "delivered"
        ])
      })
    )

    it.live("is disabled by 20 failures in a row, not by 19 twice (BasedHardware/omi#7289)", () =>
      Effect.gen(function* () {
        const { endpoint, endpoints, receiver } = yield* begin
        const counted = (count: number) =>
          awaited(
            `${count} failures`,
            endpoints.read(endpoint.id),
            ({ consecutive_failed_attempts }) => consecutive_failed_attempts === count
          )
        const fail = Effect.fnUntraced(function* (times: number, before: number) {
          receiver.answer = () => 500
          for (let time = 0; time < times; time++) bodyOf(yield* endpoints.test(endpoint.id), 201)
          return yield* counted(before + times)
        })
        yield* fail(DISABLING - 1, 0)
        receiver.answer = () => 204
        bodyOf(yield* endpoints.test(endpoint.id), 201)
        yield* counted(0)
        assert.strictEqual((yield* fail(DISABLING - 1, 0)).status, "active")
        assert.strictEqual((yield* fail(1, DISABLING - 1)).status, "disabled")
      })
    )

    it.live("gets nine attempts while it answers 403, and no more (frain-dev/convoy#1833)", () =>
      Effect.gen(function* () {
        const store = yield* open
        const { tenant } = yield* startDelivering(store)
        const receiver = yield* toldReceiver
        receiver.answer = () => 403
        const endpoints = endpointsOf(tenant)
        const { id } = yield* endpoints.register(receiver.url, { event_types: ["mandate.created"] })
        yield* tenant.newMandate()
        for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
          const [delivery] = yield* awaited(
            `attempt ${attempt}`,
            endpoints.deliveries(id),
            ([one]) => one?.attempts.length === attempt
          )
          assert.strictEqual(delivery!.state, attempt === ATTEMPTS ? "exhausted" : "pending")
          yield* store.pass(A_LONG_PAUSE)
        }
        const { status } = yield* endpoints.test(id)
        assert.strictEqual(status, 201)
        yield* eventually(
          "the test, after which there is nothing",
          () => receiver.webhooks().length === ATTEMPTS + 1
        )
        assert.lengthOf(
          new Set(
            receiver
              .webhooks()
              .slice(0, ATTEMPTS)
              .map(({ body }) => body.toString())
          ),
          1
        )
        assert.lengthOf(new Set(receiver.webhooks().map(({ id: event }) => event)), 2)
        const counted = yield* awaited(
          "the counters",
          endpoints.read(id),
          ({ consecutive_failed_attempts }) => consecutive_failed_attempts === ATTEMPTS + 1
        )
        assert.deepInclude(counted, { status: "active", consecutive_exhausted_deliveries: 1 })
      })
    )

    it.live("is disabled by 20 consecutive failures over 3 deliveries (BasedHardware/omi#7289)", () =>
      Effect.gen(function* () {
        const store = yield* open
        const { tenant } = yield* startDelivering(store)
        const receiver = yield* toldReceiver
        receiver.answer = () => 500
        const endpoints = endpointsOf(tenant)
        const { id } = yield* endpoints.register(receiver.url, { event_types: ["mandate.created"] })
        for (let event = 0; event < 3; event++) yield* tenant.newMandate()
        for (let round = 1; round <= 7; round++) {
          yield* awaited(
            `round ${round}`,
            endpoints.read(id),
            ({ consecutive_failed_attempts }) => consecutive_failed_attempts === 3 * round
          )
          if (round < 7) yield* store.pass(A_LONG_PAUSE)
        }
        assert.deepInclude(yield* endpoints.read(id), {
          status: "disabled",
          disabled_reason: "consecutive_failed_attempts",
          consecutive_exhausted_deliveries: 0
        })
        const states = (yield* endpoints.deliveries(id)).map(({ attempts, state }) => [
          state,
          attempts.length
        ])
        assert.deepStrictEqual(states, Array(3).fill(["frozen", 7]))
      })
    )

    it.live(
      "deleted before the worker runs has its deliveries cancelled, and others are not delayed (svix/svix-webhooks#1511)",
      () =>
        Effect.gen(function* () {
          const store = yield* open
          const service = yield* startService(store.options)
          const { tenant } = service
          const [gone, there] = [yield* toldReceiver, yield* toldReceiver]
          const endpoints = endpointsOf(tenant)
          const { id } = yield* endpoints.register(gone.url)
          yield* endpoints.register(there.url)
          for (let event = 0; event < 3; event++) yield* tenant.newMandate()
          assert.strictEqual((yield* endpoints.remove(id)).status, 204)
          yield* startWorker(service)
          yield* eventually("the other endpoint's", () => there.webhooks().length === 3)
          yield* tenant.newMandate()
          yield* eventually("one more", () => there.webhooks().length === 4)
          assert.strictEqual(gone.seen.connections, 0)
          const states = (yield* endpoints.deliveries(id)).map(({ attempts, state }) => [
            state,
            attempts.length
          ])
          assert.deepStrictEqual(states, Array(3).fill(["cancelled", 0]))
          assert.strictEqual((yield* endpoints.read(id)).status, "deleted")
          assert.lengthOf((yield* tenant.get(ENDPOINTS)).data, 1)
          bodyOf(yield* endpoints.reactivate(id), 409)
        })
    )
  })
}
