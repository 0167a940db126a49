import { assert, describe, it } from "@effect/vitest"
import {
  after,
  approve,
  at,
  authorizationId,
  authorizationIn,
  cancel,
  commit,
  created,
  DAY,
  ENDS,
  HOUR,
  MINUTE,
  MONTHLY,
  propose,
  recurring,
  refund,
  reject,
  revoke,
  SECOND,
  STARTS,
  type Story,
  single,
  until
} from "../../test/MandateStory.ts"
import { evolve, evolveAll } from "./Evolve.ts"
import type { JournalFact } from "./JournalFact.ts"
import type { StreamState } from "./MandateState.ts"

const pending = created(recurring({ policy: { periods: [{ ...MONTHLY, unit: "DAY" }] } }))
const active = until(after(pending, approve, at("2026-11-29T00:00:00Z")), STARTS)
const reserved = after(active, propose(1), STARTS)

const fold = (facts: ReadonlyArray<JournalFact>): StreamState | undefined =>
  facts.reduce<StreamState | undefined>(evolve, undefined)

describe("evolve", () => {
  it("folds a whole life to the state that deciding led to", () => {
    const story = [
      (told: Story) => after(told, commit(1), STARTS + SECOND),
      (told: Story) => after(told, refund(1), STARTS + MINUTE),
      (told: Story) => after(told, propose(2), STARTS + HOUR),
      (told: Story) => after(told, propose(3, { amount: 9999 }), STARTS + HOUR),
      (told: Story) => after(told, cancel(2), STARTS + HOUR),
      (told: Story) => after(told, commit(2), STARTS + HOUR + SECOND),
      (told: Story) => after(told, propose(4), STARTS + DAY),
      (told: Story) => after(told, revoke(), STARTS + DAY + SECOND),
      (told: Story) => until(told, STARTS + 9n * DAY)
    ].reduce((told, step) => step(told), reserved)
    assert.deepStrictEqual(fold(story.facts), story.stream)
    assert.strictEqual(story.stream.mandate.updatedAt, "2026-12-02T00:05:00.000000000Z")
    assert.deepStrictEqual(
      [...story.stream.authorizations.values()].map(({ state, late, periods }) => [
        state,
        late,
        periods.length
      ]),
      [
        ["COMMITTED", false, 1],
        ["CANCELLED", true, 1],
        ["DENIED", false, 0],
        ["EXPIRED", false, 1]
      ]
    )
    assert.doesNotHaveAnyKeys(authorizationIn(story, 3), ["executeBefore", "expiresAt", "closedAt"])
  })

  it("says of a mandate when it was approved, and when and why it ended, each where it happened alone", () => {
    const once = until(after(created(single()), approve, at("2026-11-29T00:00:00Z")), STARTS)
    const rows: ReadonlyArray<readonly [Story, ReadonlyArray<string>]> = [
      [pending, []],
      [active, ["approvedAt"]],
      [after(pending, reject, at("2026-11-29T00:00:00Z")), ["endedAt"]],
      [after(after(once, propose(1), STARTS), commit(1), STARTS + SECOND), ["approvedAt", "endedAt"]],
      [after(active, revoke(), STARTS), ["approvedAt", "endedAt", "revocationReason"]],
      [until(active, ENDS), ["approvedAt", "endedAt", "endReason"]]
    ]
    const said = ["approvedAt", "endedAt", "endReason", "revocationReason"]
    for (const [{ stream }, expected] of rows) {
      assert.sameMembers(
        Object.keys(stream.mandate).filter((member) => said.includes(member)),
        [...expected]
      )
    }
  })

  it("counts versions by changes of mandate state alone", () => {
    const versions = [pending, active, reserved, after(reserved, commit(1), STARTS + SECOND)].map(
      ({ stream }) => stream.mandate.version
    )
    assert.deepStrictEqual(versions, [1, 3, 3, 3])
  })

  it("changes nothing that it is given", () => {
    const before = structuredClone(reserved.stream)
    after(reserved, commit(1), STARTS + SECOND)
    after(reserved, revoke(), STARTS + SECOND)
    until(reserved, STARTS + HOUR)
    assert.deepStrictEqual(reserved.stream, before)
  })

  it("keeps the opening of a commitment out of the authorization", () => {
    const { commit: report } = authorizationIn(after(reserved, commit(1), STARTS + SECOND), 1)
    assert.deepStrictEqual(report, {
      external_action_reference: "act_1",
      provider_transaction_reference: "txn_1",
      reported_accepted_at: "2026-12-01T00:00:01Z"
    })
  })

  it("closes a reservation whose authorization was not loaded", () => {
    const stream: StreamState = { ...reserved.stream, authorizations: new Map() }
    const next = evolve(stream, {
      type: "authorization.expired",
      occurred_at: "2026-12-01T00:05:00.000000000Z",
      authorization_id: authorizationId(1),
      data: {}
    })
    assert.deepStrictEqual(next.open, [])
    assert.strictEqual(next.authorizations.size, 0)
    assert.strictEqual(next.mandate.totals.reservedAmount, 0n)
  })
})

describe("use of periods that ended", () => {
  it("is dropped once nothing is open in it: the state does not grow with the history", () => {
    let story = active
    for (let day = 0n; day < 60n; day++) {
      const number = Number(day) + 1
      story = after(story, propose(number, { amount: 10 }), STARTS + day * DAY)
      assert.strictEqual(story.stream.mandate.periods.length, 1)
      story = after(story, commit(number), STARTS + day * DAY + SECOND)
    }
    assert.strictEqual(story.stream.mandate.totals.committedAmount, 600n)
  })

  it("is kept while something is open in it", () => {
    const kept = after(after(active, propose(1, { window: 86_400 }), STARTS + HOUR), propose(2), STARTS + DAY)
    assert.strictEqual(kept.stream.mandate.periods.length, 2)
    const closed = after(kept, cancel(1), STARTS + DAY + SECOND)
    assert.strictEqual(closed.stream.mandate.periods.length, 1)
  })

  it("is dropped with the last release, whatever else happened to it", () => {
    const kept = after(after(active, propose(1, { window: 86_400 }), STARTS + HOUR), propose(2), STARTS + DAY)
    const committed = after(kept, commit(1), STARTS + DAY + SECOND)
    assert.deepStrictEqual(
      committed.stream.mandate.periods.map(({ counters }) => counters.committedAmount),
      [0n]
    )
    assert.strictEqual(committed.stream.mandate.totals.committedAmount, 1000n)
  })
})

describe("a late report", () => {
  it("counts in the periods of its authorization that go on, and in none that has ended", () => {
    const lateIn = (proposed: bigint, reported: bigint) => {
      const told = after(after(active, propose(1, { window: 60 }), proposed), commit(1), reported)
      return told.stream.mandate.periods.map(({ counters }) => counters.lateAmount)
    }
    assert.deepStrictEqual(lateIn(STARTS + HOUR, STARTS + 2n * HOUR), [1000n])
    assert.deepStrictEqual(lateIn(STARTS + HOUR, STARTS + DAY + SECOND), [])
    // The last period is shown for good, so that what counted in it after its end would be seen.
    assert.deepStrictEqual(lateIn(ENDS - HOUR, ENDS - MINUTE), [1000n])
    assert.deepStrictEqual(lateIn(ENDS - HOUR, ENDS), [0n])
    assert.deepStrictEqual(lateIn(ENDS - HOUR, ENDS + SECOND), [0n])
  })
})

describe("a mandate that had late reports", () => {
  it.each([
    ["SINGLE", single(), [authorizationId(1)]],
    ["RECURRING", recurring(), []]
  ] as const)("names their authorizations if it is %s", (_, terms, expected) => {
    const begun = until(after(created(terms), approve, at("2026-11-29T00:00:00Z")), STARTS)
    const late = after(after(begun, propose(1, { window: 60 }), STARTS), commit(1), STARTS + HOUR)
    assert.deepStrictEqual(late.stream.mandate.lateAuthorizations, expected)
  })
})

describe("evolveAll", () => {
  it("tells the state after each fact, as evolve does", () => {
    const { facts } = after(after(reserved, commit(1), STARTS + SECOND), refund(1), STARTS + MINUTE)
    let told: StreamState | undefined
    let count = 0
    for (const state of evolveAll(facts)) {
      told = evolve(told, facts[count] as JournalFact)
      assert.deepStrictEqual(state, told)
      count += 1
    }
    assert.strictEqual(count, facts.length)
  })
})

describe("a broken journal throws", () => {
  const rows: Readonly<Record<string, () => unknown>> = {
    "a mandate was created twice": () => evolve(reserved.stream, pending.facts[0] as JournalFact),
    "a stream began with something other than its creation": () =>
      evolve(undefined, active.facts[1] as JournalFact),
    "an authorization that is not open was closed": () =>
      evolve(reserved.stream, {
        type: "authorization.cancelled",
        occurred_at: "2026-12-01T00:00:09.000000000Z",
        authorization_id: authorizationId(7),
        data: { reason: "DUPLICATE", execution_disposition: "NEVER_BECAME_POSSIBLE" }
      }),
    "a refund was recorded on an unknown authorization": () =>
      evolve(active.stream, {
        type: "authorization.refund_reported",
        occurred_at: "2026-12-01T00:00:09.000000000Z",
        authorization_id: authorizationId(7),
        data: {} as never
      }),
    "a conflict was recorded on an unknown authorization": () =>
      evolve(active.stream, {
        type: "authorization.outcome_conflict",
        occurred_at: "2026-12-01T00:00:09.000000000Z",
        authorization_id: authorizationId(7),
        data: {} as never
      })
  }
  for (const [fault, run] of Object.entries(rows)) it(fault, () => assert.throws(run, fault))
})
