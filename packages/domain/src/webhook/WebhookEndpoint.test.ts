import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { ENDPOINT } from "../../test/ActiveEndpoint.ts"
import {
  afterAttempt,
  type CountedAttempt,
  deleted,
  MAX_EXHAUSTED_DELIVERIES,
  MAX_FAILED_ATTEMPTS,
  reactivated,
  wants,
  withSecret
} from "./WebhookEndpoint.ts"

const NOW = 100n

const attempt = (parts: Partial<CountedAttempt> = {}): CountedAttempt => ({
  generation: 0,
  isDelivered: false,
  isJournalEvent: true,
  isLast: false,
  ...parts
})

const after = (attempts: ReadonlyArray<CountedAttempt>, from = ENDPOINT) =>
  attempts.reduce((endpoint, each) => afterAttempt(endpoint, each, NOW), from)

const times = (count: number, parts: Partial<CountedAttempt> = {}) =>
  Array.from({ length: count }, () => attempt(parts))

describe("counters of an endpoint", () => {
  it("omi 7289: 19 failures, a success and 19 failures leave it active; 20 failures disable it", () => {
    const success = attempt({ isDelivered: true })
    const active = after([...times(19), success, ...times(19)])
    assert.deepStrictEqual([active.status, active.consecutiveFailedAttempts], ["active", 19])
    const disabled = after(times(20))
    assert.deepStrictEqual(
      [disabled.status, disabled.disabledReason, disabled.disabledAt, disabled.updatedAt],
      ["disabled", "consecutive_failed_attempts", NOW, NOW]
    )
  })

  it("disable it at the tenth exhausted delivery, which a delivered journal event alone resets", () => {
    // A test that arrives keeps the failed attempts from being what disables it.
    const exhausted = [attempt({ isLast: true }), attempt({ isDelivered: true, isJournalEvent: false })]
    const rounds = (count: number) => Array.from({ length: count }, () => exhausted).flat()
    const nine = after(rounds(9))
    assert.deepStrictEqual([nine.status, nine.consecutiveExhaustedDeliveries], ["active", 9])
    assert.strictEqual(after([attempt({ isDelivered: true })], nine).consecutiveExhaustedDeliveries, 0)
    const ten = after([attempt({ isLast: true })], nine)
    assert.deepStrictEqual([ten.status, ten.disabledReason], ["disabled", "consecutive_exhausted_deliveries"])
  })

  it("count a failed test as an attempt, and never as an exhausted delivery", () => {
    const failed = after(times(1, { isJournalEvent: false, isLast: true }))
    assert.deepStrictEqual([failed.consecutiveFailedAttempts, failed.consecutiveExhaustedDeliveries], [1, 0])
  })

  it("do not move by what began before a reactivation, nor once it is deleted", () => {
    const again = reactivated(after(times(20)), 200n)
    for (const isDelivered of [true, false]) {
      assert.deepStrictEqual(afterAttempt(again, attempt({ isDelivered }), NOW), again)
    }
    assert.strictEqual(afterAttempt(again, attempt({ generation: 1 }), NOW).consecutiveFailedAttempts, 1)
    const gone = deleted(ENDPOINT, 50n)
    assert.strictEqual(afterAttempt(gone, attempt(), NOW), gone)
  })

  it("go on while it is disabled, for the reason that it was disabled for", () => {
    const disabled = after(times(MAX_FAILED_ATTEMPTS))
    const later = after(times(MAX_EXHAUSTED_DELIVERIES, { isLast: true }), disabled)
    assert.deepStrictEqual(later, {
      ...disabled,
      consecutiveFailedAttempts: MAX_FAILED_ATTEMPTS + MAX_EXHAUSTED_DELIVERIES,
      consecutiveExhaustedDeliveries: MAX_EXHAUSTED_DELIVERIES
    })
    assert.strictEqual(after([attempt({ isDelivered: true })], disabled).status, "disabled")
  })

  it("are those of a plain recount of the attempts, whatever their order", () => {
    const any = fc.record({
      generation: fc.constant(0),
      isDelivered: fc.boolean(),
      isJournalEvent: fc.boolean(),
      isLast: fc.boolean()
    })
    fc.assert(
      fc.property(fc.array(any, { maxLength: 60 }), (attempts) => {
        const end = after(attempts)
        const lastSuccess = attempts.findLastIndex(({ isDelivered }) => isDelivered)
        const lastArrival = attempts.findLastIndex(
          ({ isDelivered, isJournalEvent }) => isDelivered && isJournalEvent
        )
        assert.strictEqual(end.consecutiveFailedAttempts, attempts.length - 1 - lastSuccess)
        assert.strictEqual(
          end.consecutiveExhaustedDeliveries,
          attempts
            .slice(lastArrival + 1)
            .filter(({ isDelivered, isJournalEvent, isLast }) => !isDelivered && isJournalEvent && isLast)
            .length
        )
        const isDisabled = attempts.some((_, index) => {
          const sofar = after(attempts.slice(0, index + 1))
          return (
            sofar.consecutiveFailedAttempts >= MAX_FAILED_ATTEMPTS ||
            sofar.consecutiveExhaustedDeliveries >= MAX_EXHAUSTED_DELIVERIES
          )
        })
        assert.strictEqual(end.status, isDisabled ? "disabled" : "active")
      })
    )
  })
})

describe("what an operator does to an endpoint", () => {
  it("reactivation sets both counters to zero, once", () => {
    const disabled = after([attempt({ isLast: true }), ...times(19)])
    const again = reactivated(disabled, 200n)
    assert.deepStrictEqual(again, { ...ENDPOINT, generation: 1, updatedAt: 200n })
    assert.strictEqual(reactivated(again, 300n), again)
    const gone = deleted(disabled, 250n)
    assert.strictEqual(reactivated(gone, 300n), gone)
  })

  it("rotation gives it a secret of another version", () => {
    assert.deepStrictEqual(withSecret(ENDPOINT, "other", 200n), {
      ...ENDPOINT,
      secretVersion: 2,
      sealedSecret: "other",
      updatedAt: 200n
    })
  })

  it("deletion is soft, and happens once", () => {
    const gone = deleted(ENDPOINT, 200n)
    assert.deepStrictEqual(gone, { ...ENDPOINT, status: "deleted", updatedAt: 200n })
    assert.strictEqual(deleted(gone, 300n), gone)
  })
})

it("an endpoint wants the types that it named, or all", () => {
  assert.isTrue(wants(ENDPOINT, "mandate.approved"))
  const some = { eventTypes: ["mandate.revoked"] as const }
  assert.deepStrictEqual([wants(some, "mandate.revoked"), wants(some, "mandate.approved")], [true, false])
})
