import { assert, describe, it } from "@effect/vitest"
import { startTestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { Effect } from "effect"
import {
  awaited,
  ENDPOINTS,
  endpointsOf,
  eventually,
  startDelivering,
  startWorker,
  storesWith,
  toldReceiver
} from "./DeliveringService.ts"
import { bodyOf, startService } from "./ServiceUnderTest.ts"

/*
 * Faults that people reported in public of systems that send webhooks, as inputs to the whole service. The others are in
 *
 *   stripe-node 494, github docs 3567, stripe-php 657, inkbox 144     WebhookReplay.test.ts
 *   formbricks 7877                                                   WebhookTargets.test.ts
 *   omi 7289 (19, 1, 19), convoy 1092, 1667, resend-openapi 114       WebhookOperations.test.ts
 */

/** Attempts that a delivery has. */
const ATTEMPTS = 9
/** Longer than the longest pause between two of them, in seconds. */
const A_LONG_PAUSE = 61_000

const server = await startTestPostgres()

for (const { isAbsent, name, open } of storesWith(server)) {
  describe.skipIf(isAbsent)(`webhooks, on ${name}`, () => {
    it.live("convoy 1833: a receiver that always says 403 is asked nine times, and no more", () =>
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

    it.live("omi 7289: 20 failures over 3 deliveries disable the endpoint", () =>
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
      "svix 1511: what waited for an endpoint that was deleted before the worker came is recorded, never sent, and holds up nobody",
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
