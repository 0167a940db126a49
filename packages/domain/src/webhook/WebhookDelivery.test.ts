import { assert, describe, it } from "@effect/vitest"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { TEST_EVENT_TYPE } from "@svc/protocol/webhook/WebhookBody"
import * as fc from "fast-check"
import { ENDPOINT } from "../../test/ActiveEndpoint.ts"
import { MAX_ATTEMPTS, retryDelay } from "./DeliverySchedule.ts"
import {
  afterReactivation,
  beginAttempt,
  type EndpointAndDelivery,
  finishAttempt,
  isDue,
  isSuccess,
  loseAttempt,
  mayRedeliver,
  shownDeliveryState,
  type WebhookDeliveryState
} from "./WebhookDelivery.ts"
import { deleted, reactivated } from "./WebhookEndpoint.ts"

const DELIVERY: WebhookDeliveryState = {
  id: "dlv_01jdxxxxxxxxxxxxxxxxxxxxxx",
  organizationId: ENDPOINT.organizationId,
  endpointId: ENDPOINT.id,
  eventId: "evt_01jdxxxxxxxxxxxxxxxxxxxxxx",
  eventType: "mandate.approved",
  createdAt: 0n,
  state: "pending",
  nextAttemptAt: 0n,
  attempts: []
}

const LASTS = 30n * NANOS_PER_SECOND
const MIDDLE = 0.5
const FAILED = { status: 500, durationMs: 12 }
const ARRIVED = { status: 204, durationMs: 3 }

const begun = ({ delivery, endpoint }: EndpointAndDelivery, now: bigint, token = "mine") => ({
  endpoint,
  delivery: beginAttempt(delivery, endpoint, { token, now, lasts: LASTS })
})

const attempted = (both: EndpointAndDelivery, now: bigint, result: typeof FAILED | typeof ARRIVED) =>
  finishAttempt(begun(both, now), { token: "mine", result, now: now + 1n, uniform: MIDDLE })!

const start = (parts: Partial<WebhookDeliveryState> = {}): EndpointAndDelivery => ({
  endpoint: ENDPOINT,
  delivery: { ...DELIVERY, ...parts }
})

describe("the attempts of a delivery", () => {
  it("are nine, on the schedule, and then it is exhausted", () => {
    let both = start()
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const now = both.delivery.nextAttemptAt!
      assert.isTrue(isDue(both.delivery, both.endpoint, now))
      assert.isFalse(isDue(both.delivery, both.endpoint, now - 1n))
      both = attempted(both, now, FAILED)
      assert.deepStrictEqual(both.delivery.attempts.at(-1), { at: now, ...FAILED })
      assert.strictEqual(both.endpoint.consecutiveFailedAttempts, attempt)
      if (attempt < MAX_ATTEMPTS) {
        assert.strictEqual(both.delivery.nextAttemptAt, now + 1n + retryDelay(attempt, MIDDLE))
      }
    }
    assert.strictEqual(both.delivery.state, "exhausted")
    assert.notProperty(both.delivery, "nextAttemptAt")
    assert.strictEqual(both.endpoint.consecutiveExhaustedDeliveries, 1)
    assert.isFalse(isDue(both.delivery, both.endpoint, 2n ** 62n))
  })

  it("end with the first 2xx", () => {
    const both = attempted(attempted(start(), 0n, FAILED), 10n, ARRIVED)
    assert.strictEqual(both.delivery.state, "delivered")
    assert.lengthOf(both.delivery.attempts, 2)
    assert.strictEqual(both.endpoint.consecutiveFailedAttempts, 0)
  })

  it("succeed with 200 to 299 alone", () => {
    for (const status of [200, 201, 204, 299]) assert.isTrue(isSuccess(status))
    for (const status of [undefined, 100, 199, 300, 301, 302, 304, 307, 308, 400, 404, 410, 429, 500, 503]) {
      assert.isFalse(isSuccess(status))
    }
  })

  it("are one at a time, and each has one result", () => {
    const both = begun(start(), 5n)
    assert.isFalse(isDue(both.delivery, both.endpoint, 5n))
    const other = { token: "another", result: ARRIVED, now: 6n, uniform: MIDDLE }
    assert.isUndefined(finishAttempt(both, other))
    const done = finishAttempt(both, { ...other, token: "mine" })!
    assert.isUndefined(finishAttempt(done, { ...other, token: "mine" }))
  })

  it("of a test are one, which counts as a failed attempt and never as an exhausted delivery", () => {
    const both = attempted(start({ eventType: TEST_EVENT_TYPE }), 0n, FAILED)
    assert.strictEqual(both.delivery.state, "exhausted")
    assert.deepStrictEqual(
      [both.endpoint.consecutiveFailedAttempts, both.endpoint.consecutiveExhaustedDeliveries],
      [1, 0]
    )
  })

  it("are used up by a worker that is lost, and move no counter", () => {
    const both = begun(start(), 5n)
    assert.isUndefined(loseAttempt(both.delivery, 5n + LASTS - 1n, MIDDLE))
    const lost = loseAttempt(both.delivery, 5n + LASTS, MIDDLE)!
    assert.deepStrictEqual(lost.attempts, [{ at: 5n, durationMs: 30_000, error: "worker_lost" }])
    assert.strictEqual(lost.nextAttemptAt, 5n + LASTS + retryDelay(1, MIDDLE))
    assert.isUndefined(
      finishAttempt(
        { ...both, delivery: lost },
        { token: "mine", result: ARRIVED, now: 99n, uniform: MIDDLE }
      )
    )
    assert.isUndefined(loseAttempt(lost, 2n ** 62n, MIDDLE))
  })

  it("never are more than nine, nor begin before they are due, however workers fare", () => {
    const step = fc.record({
      outcome: fc.constantFrom("fails", "is lost"),
      wait: fc.bigInt({ min: 0n, max: 100_000n * NANOS_PER_SECOND }),
      uniform: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 12, maxLength: 12 }), (steps) => {
        let both = start()
        let now = 0n
        for (const { outcome, uniform, wait } of steps) {
          now += wait
          if (!isDue(both.delivery, both.endpoint, now)) {
            if (both.delivery.state !== "pending" || both.endpoint.status !== "active") break
            now = both.delivery.nextAttemptAt!
          }
          const open = begun(both, now)
          both =
            outcome === "fails"
              ? finishAttempt(open, { token: "mine", result: FAILED, now, uniform })!
              : { ...open, delivery: loseAttempt(open.delivery, now + LASTS, uniform)! }
          if (outcome === "is lost") now += LASTS
        }
        const { attempts, state } = both.delivery
        assert.isAtMost(attempts.length, MAX_ATTEMPTS)
        assert.strictEqual(state, attempts.length === MAX_ATTEMPTS ? "exhausted" : "pending")
        for (const [index, { at }] of attempts.entries()) {
          if (index > 0)
            assert.isAtLeast(Number(at - attempts[index - 1]!.at), 24e9 * 2.88 ** (index - 1) - 1e6)
        }
      })
    )
  })
})

describe("what becomes of the endpoint", () => {
  const disabled = { ...ENDPOINT, status: "disabled", disabledReason: "consecutive_failed_attempts" } as const

  it("shows in what waits, and in nothing that has ended", () => {
    const rows = [
      ["pending", "pending", "frozen", "cancelled"],
      ["delivered", "delivered", "delivered", "delivered"],
      ["exhausted", "exhausted", "exhausted", "exhausted"]
    ] as const
    for (const [state, active, frozen, cancelled] of rows) {
      const shown = (["active", "disabled", "deleted"] as const).map((status) =>
        shownDeliveryState({ state }, { status })
      )
      assert.deepStrictEqual(shown, [active, frozen, cancelled])
    }
  })

  it("convoy 1667, svix 1511: nothing begins while it is disabled or deleted", () => {
    assert.isFalse(isDue(DELIVERY, disabled, 9n))
    assert.isFalse(isDue(DELIVERY, deleted(ENDPOINT, 1n), 9n))
    assert.isTrue(isDue(DELIVERY, reactivated(disabled, 2n), 9n))
  })

  it("leaves an attempt that was under way what it was", () => {
    const open = begun(start({ attempts: [{ at: 0n, ...FAILED }] }), 5n)
    for (const endpoint of [disabled, deleted(ENDPOINT, 6n), reactivated(disabled, 6n)]) {
      const done = finishAttempt(
        { ...open, endpoint },
        { token: "mine", result: ARRIVED, now: 7n, uniform: 0 }
      )!
      assert.strictEqual(done.delivery.state, "delivered")
      assert.lengthOf(done.delivery.attempts, 2)
      assert.strictEqual(done.endpoint.status, endpoint.status)
    }
  })

  it("comes evenly with all that is due once its endpoint is active again, the longest due first, and goes on counting", () => {
    const now = 1000n
    const waiting = (id: string, nextAttemptAt: bigint): WebhookDeliveryState => ({
      ...DELIVERY,
      id,
      nextAttemptAt,
      attempts: [{ at: 0n, ...FAILED }]
    })
    const { nextAttemptAt: _, ...ended } = { ...waiting("ended", 1n), state: "delivered" as const }
    const open = beginAttempt(waiting("open", 1n), ENDPOINT, { token: "t", now, lasts: 1n })
    const due = [waiting("c", 7n), waiting("b", 3n), waiting("a", 7n)]
    const next = afterReactivation([...due, waiting("later", now + 1n), ended, open], { now, over: 10n })
    assert.deepStrictEqual(next, [
      { ...due[1]!, nextAttemptAt: now },
      { ...due[2]!, nextAttemptAt: now + 3n },
      { ...due[0]!, nextAttemptAt: now + 6n }
    ])
    assert.deepStrictEqual(afterReactivation([], { now, over: 10n }), [])
  })
})

it("what was delivered or exhausted may be sent again", () => {
  const rows = (["pending", "delivered", "exhausted"] as const).map((state) => mayRedeliver({ state }))
  assert.deepStrictEqual(rows, [false, true, true])
})
