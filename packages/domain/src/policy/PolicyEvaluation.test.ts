import { assert, describe, it } from "@effect/vitest"
import type { Policy } from "@svc/protocol/Mandate"
import { MAX_SAFE_INTEGER } from "@svc/protocol/Mandate"
import {
  after,
  approve,
  asked,
  at,
  authorizationId,
  cancel,
  commit,
  created,
  DAY,
  decisionOf,
  ENDS,
  HOUR,
  MINUTE,
  MONTHLY,
  type Proposal,
  propose,
  reasonsOf,
  recurring,
  reject,
  revoke,
  SECOND,
  STARTS,
  type Story,
  single,
  until
} from "../../test/MandateStory.ts"
import { evaluatePolicy } from "./PolicyEvaluation.ts"

const NOON = STARTS + 12n * HOUR
const AMOUNT = "/proposed_action/payment/amount"

const activeOf = (terms: Parameters<typeof created>[0]): Story =>
  until(after(created(terms), approve, at("2026-11-29T00:00:00Z")), STARTS)
const activeSingle = (policy: Partial<Policy> = {}) => activeOf(single({ policy }))
const activeRecurring = (policy: Partial<Policy> = {}) => activeOf(recurring({ policy }))

const decided = (story: Story, proposal: Proposal = {}, now = NOON) => {
  const verdict = asked(story, propose(99, proposal), now)
  return { decision: decisionOf(verdict), reasons: reasonsOf(verdict) }
}

const codes = (story: Story, proposal: Proposal = {}, now = NOON) =>
  decided(story, proposal, now).reasons.map((reason) => (reason as { code: string }).code)

const allow = { decision: "ALLOW", reasons: [] }
const deny = (...reasons: ReadonlyArray<unknown>) => ({ decision: "DENY", reasons })
const undecided = (...reasons: ReadonlyArray<unknown>) => ({ decision: "INDETERMINATE", reasons })

describe("a decision on a mandate that is not ACTIVE (part 5)", () => {
  const pending = created(recurring())
  const rows: Readonly<Record<string, readonly [Story, bigint]>> = {
    MANDATE_NOT_APPROVED: [pending, at("2026-11-29T00:00:00Z")],
    MANDATE_NOT_STARTED: [after(pending, approve, at("2026-11-29T00:00:00Z")), at("2026-11-30T00:00:00Z")],
    MANDATE_REJECTED: [after(pending, reject, at("2026-11-29T00:00:00Z")), NOON],
    MANDATE_REVOKED: [after(activeRecurring(), revoke(), STARTS), NOON],
    MANDATE_EXPIRED: [activeRecurring(), ENDS],
    MANDATE_CONSUMED: [after(after(activeSingle(), propose(1), STARTS), commit(1), STARTS + SECOND), NOON]
  }
  for (const [code, [story, now]] of Object.entries(rows)) {
    it(`has the only reason ${code}`, () =>
      assert.deepStrictEqual(
        decided(story, { amount: 9999, currency: "USD", action: "other" }, now),
        deny({ code, pointer: "" })
      ))
  }
})

describe("a decision on one rule at a time (part 5)", () => {
  const policy: Partial<Policy> = {
    min_amount: 100,
    allowed_merchants: ["mrc_42", "Straße"],
    attribute_rules: [
      { name: "category", in: ["books", "music"] },
      { name: "a/b~c", in: ["1"] }
    ]
  }
  const story = activeSingle(policy)
  const right = { merchant: "mrc_42", category: "books", "a/b~c": "1" }

  it("is ALLOW when every rule holds", () =>
    assert.deepStrictEqual(decided(story, { attributes: right }), allow))
  it("is ALLOW at the bounds themselves", () => {
    assert.deepStrictEqual(decided(story, { attributes: right, amount: 100 }), allow)
    assert.deepStrictEqual(decided(story, { attributes: right, amount: 5000 }), allow)
  })
  it("gives AMOUNT_ABOVE_MAXIMUM with every member of its reason", () =>
    assert.deepStrictEqual(
      decided(story, { attributes: right, amount: 5001 }),
      deny({ code: "AMOUNT_ABOVE_MAXIMUM", pointer: AMOUNT, limit: 5000, requested: 5001 })
    ))
  it("gives AMOUNT_BELOW_MINIMUM with every member of its reason", () =>
    assert.deepStrictEqual(
      decided(story, { attributes: right, amount: 99 }),
      deny({ code: "AMOUNT_BELOW_MINIMUM", pointer: AMOUNT, limit: 100, requested: 99 })
    ))
  it("gives CURRENCY_NOT_ALLOWED, and evaluates no amount rule", () =>
    assert.deepStrictEqual(
      decided(story, { attributes: right, amount: 5001, currency: "USD" }),
      deny({ code: "CURRENCY_NOT_ALLOWED", pointer: "/proposed_action/payment/currency" })
    ))
  it("gives ACTION_NOT_ALLOWED with every member of its reason", () =>
    assert.deepStrictEqual(
      decided(story, { attributes: right, action: "card.Create" }),
      deny({ code: "ACTION_NOT_ALLOWED", pointer: "/proposed_action/action" })
    ))
  it("gives MERCHANT_NOT_ALLOWED with every member of its reason", () =>
    assert.deepStrictEqual(
      decided(story, { attributes: { ...right, merchant: "mrc_43" } }),
      deny({ code: "MERCHANT_NOT_ALLOWED", pointer: "/proposed_action/attributes/merchant" })
    ))
  it("gives ATTRIBUTE_NOT_ALLOWED, with an escaped pointer", () =>
    assert.deepStrictEqual(
      decided(story, { attributes: { ...right, "a/b~c": "2" } }),
      deny({ code: "ATTRIBUTE_NOT_ALLOWED", pointer: "/proposed_action/attributes/a~1b~0c" })
    ))
  it("gives ATTRIBUTE_MISSING once for each missing attribute", () =>
    assert.deepStrictEqual(
      decided(story, { attributes: { "a/b~c": "1" } }),
      undecided(
        {
          code: "ATTRIBUTE_MISSING",
          pointer: "/proposed_action/attributes/merchant",
          resolve_with: ["merchant"]
        },
        {
          code: "ATTRIBUTE_MISSING",
          pointer: "/proposed_action/attributes/category",
          resolve_with: ["category"]
        }
      )
    ))
  it("is INDETERMINATE without any attributes", () =>
    assert.deepStrictEqual(codes(story), ["ATTRIBUTE_MISSING", "ATTRIBUTE_MISSING", "ATTRIBUTE_MISSING"]))
  it("does not depend on attributes that no rule names", () =>
    assert.deepStrictEqual(decided(story, { attributes: { ...right, other: "x" } }), allow))

  for (const merchant of [
    "MRC_42",
    "mrc_42 ",
    "STRASSE",
    "Strasse",
    "mrc_4\u0662",
    "mrс_42",
    "mrc_42\u200b",
    "ｍrc_42"
  ]) {
    it(`compares merchants exactly: ${JSON.stringify(merchant)}`, () =>
      assert.deepStrictEqual(codes(story, { attributes: { ...right, merchant } }), ["MERCHANT_NOT_ALLOWED"]))
  }

  it("does not normalize Unicode in values", () => {
    const composed = activeSingle({ allowed_merchants: ["caf\u00e9"] })
    assert.deepStrictEqual(codes(composed, { attributes: { merchant: "cafe\u0301" } }), [
      "MERCHANT_NOT_ALLOWED"
    ])
  })
})

describe("an attribute named like an inherited member (part 5)", () => {
  const story = activeSingle({
    attribute_rules: [
      { name: "__proto__", in: ["x"] },
      { name: "constructor", in: ["x"] }
    ]
  })
  it("is missing unless the action itself carries it", () => {
    assert.deepStrictEqual(decided(story, { attributes: {} }).decision, "INDETERMINATE")
    assert.deepStrictEqual(codes(story), ["ATTRIBUTE_MISSING", "ATTRIBUTE_MISSING"])
  })
  it("matches when the action carries it", () => {
    const attributes = JSON.parse('{"__proto__":"x","constructor":"x"}') as Record<string, string>
    assert.deepStrictEqual(decided(story, { attributes }), allow)
    const wrong = JSON.parse('{"__proto__":"y","constructor":"x"}') as Record<string, string>
    assert.deepStrictEqual(codes(story, { attributes: wrong }), ["ATTRIBUTE_NOT_ALLOWED"])
  })
})

describe("a decision on a SINGLE mandate (part 5)", () => {
  const open = after(activeSingle(), propose(1), STARTS)

  it("gives MANDATE_RESERVED while an authorization is open, and none after it was cancelled or expired", () => {
    assert.deepStrictEqual(
      decided(open, {}, STARTS + SECOND),
      deny({ code: "MANDATE_RESERVED", pointer: "" })
    )
    assert.deepStrictEqual(decided(after(open, cancel(1), STARTS + SECOND), {}, STARTS + 2n * SECOND), allow)
    assert.deepStrictEqual(decided(open, {}, STARTS + 5n * MINUTE), allow)
    assert.deepStrictEqual(codes(open, {}, STARTS + 5n * MINUTE - 1n), ["MANDATE_RESERVED"])
  })

  const late = after(open, commit(1), NOON)
  const unresolved = {
    code: "CAPACITY_UNRESOLVED",
    pointer: "",
    resolve_with: [],
    conflicting_authorizations: [authorizationId(1)]
  }

  it("gives CAPACITY_UNRESOLVED after a late report", () =>
    assert.deepStrictEqual(decided(late), undecided(unresolved)))
  it("is DENY when another rule definitely fails", () =>
    assert.deepStrictEqual(
      decided(late, { action: "other" }),
      deny(unresolved, { code: "ACTION_NOT_ALLOWED", pointer: "/proposed_action/action" })
    ))
  it("gives both reasons of capacity first, in their order", () => {
    const cancelledFirst = after(open, cancel(1), STARTS + SECOND)
    const both = after(
      after(cancelledFirst, propose(2, { window: 86_400 }), STARTS + SECOND),
      commit(1),
      NOON
    )
    assert.deepStrictEqual(codes(both, { amount: 9999 }), [
      "CAPACITY_UNRESOLVED",
      "MANDATE_RESERVED",
      "AMOUNT_ABOVE_MAXIMUM"
    ])
  })
})

describe("a decision with undecidable rules (part 5)", () => {
  const story = activeRecurring({
    allowed_merchants: ["m"],
    attribute_rules: [{ name: "category", in: ["books"] }]
  })
  it("is INDETERMINATE when nothing definitely fails", () =>
    assert.strictEqual(decided(story, { attributes: { merchant: "m" } }).decision, "INDETERMINATE"))
  it("is DENY with one definite failure, and gives the undecidable reasons too", () =>
    assert.deepStrictEqual(codes(story, { attributes: { category: "films" } }), [
      "ATTRIBUTE_MISSING",
      "ATTRIBUTE_NOT_ALLOWED"
    ]))
  it("is DENY when a budget definitely fails", () => {
    const attributes = { merchant: "m", category: "books" }
    const small = activeRecurring({ allowed_merchants: ["m"], periods: [{ ...MONTHLY, max_amount: 1000 }] })
    const full = after(small, propose(1, { attributes }), NOON)
    assert.strictEqual(decided(full, { amount: 1 }, NOON + SECOND).decision, "DENY")
    assert.deepStrictEqual(codes(full, { amount: 1 }, NOON + SECOND), [
      "ATTRIBUTE_MISSING",
      "PERIOD_AMOUNT_EXCEEDED"
    ])
  })
})

it("a decision gives all reasons at once in the documented order (part 5)", () => {
  const policy: Partial<Policy> = {
    min_amount: 6000,
    max_amount: 5000,
    allowed_merchants: ["m"],
    attribute_rules: [
      { name: "z", in: ["1"] },
      { name: "a", in: ["1"] }
    ],
    max_total_amount: 1,
    max_executions: 1,
    periods: [
      { ...MONTHLY, max_amount: 1, max_executions: 1 },
      { ...MONTHLY, unit: "DAY", max_amount: 1, max_executions: 1 }
    ]
  }
  const base = activeRecurring(policy)
  const story: Story = {
    ...base,
    stream: {
      ...base.stream,
      mandate: {
        ...base.stream.mandate,
        totals: { ...base.stream.mandate.totals, committedExecutions: 1 },
        periods: [
          { period: 0, startsAt: STARTS, endsAt: at("2027-01-01T00:00:00Z"), counters: counters() },
          { period: 1, startsAt: STARTS, endsAt: STARTS + DAY, counters: counters() }
        ]
      }
    }
  }
  assert.deepStrictEqual(codes(story, { amount: 5500, action: "x", attributes: { merchant: "n", z: "2" } }), [
    "AMOUNT_ABOVE_MAXIMUM",
    "AMOUNT_BELOW_MINIMUM",
    "ACTION_NOT_ALLOWED",
    "MERCHANT_NOT_ALLOWED",
    "ATTRIBUTE_NOT_ALLOWED",
    "ATTRIBUTE_MISSING",
    "TOTAL_AMOUNT_EXCEEDED",
    "TOTAL_EXECUTIONS_EXCEEDED",
    "PERIOD_AMOUNT_EXCEEDED",
    "PERIOD_EXECUTIONS_EXCEEDED",
    "PERIOD_AMOUNT_EXCEEDED",
    "PERIOD_EXECUTIONS_EXCEEDED"
  ])
  assert.deepStrictEqual(
    codes(story, { currency: "USD", amount: 5500, attributes: { merchant: "m", z: "1", a: "1" } }),
    [
      "CURRENCY_NOT_ALLOWED",
      "TOTAL_EXECUTIONS_EXCEEDED",
      "PERIOD_EXECUTIONS_EXCEEDED",
      "PERIOD_EXECUTIONS_EXCEEDED"
    ]
  )
})

function counters() {
  return {
    committedAmount: 0n,
    reservedAmount: 0n,
    lateAmount: 0n,
    committedExecutions: 1,
    reservedExecutions: 0,
    lateExecutions: 0
  }
}

describe("budgets (part 5)", () => {
  const many = (story: Story, count: number, proposal: Proposal, now = NOON) => {
    let told = story
    let allowed = 0
    for (let number = 1; number <= count; number++) {
      if (decisionOf(asked(told, propose(number, proposal), now)) === "ALLOW") allowed++
      told = after(told, propose(number, proposal), now)
    }
    return { told, allowed }
  }

  it("allow exactly three of fifty proposals of 3000 within 10000 (BerriAI/litellm#34732)", () => {
    const story = activeRecurring({ periods: [{ ...MONTHLY, max_amount: 10_000 }] })
    assert.strictEqual(many(story, 50, { amount: 3000 }).allowed, 3)
  })

  it("reserved in full are free again after expiry or cancellation (BerriAI/litellm#30519)", () => {
    const story = activeRecurring({ periods: [{ ...MONTHLY, max_amount: 5000 }] })
    const reserved = after(story, propose(1, { amount: 5000 }), NOON)
    assert.strictEqual(decided(reserved, { amount: 1 }, NOON + SECOND).decision, "DENY")
    assert.deepStrictEqual(decided(reserved, { amount: 5000 }, NOON + 5n * MINUTE), allow)
    const cancelled = after(reserved, cancel(1), NOON + SECOND)
    assert.deepStrictEqual(decided(cancelled, { amount: 5000 }, NOON + SECOND), allow)
  })

  it("show their sums as numbers (brianc/node-postgres#1618)", () => {
    const policy = { max_amount: 10_000, periods: [{ ...MONTHLY, max_amount: 10_000 }] }
    const used = (amount: number) =>
      after(after(activeRecurring(policy), propose(1, { amount }), NOON), commit(1), NOON + SECOND)
    assert.deepStrictEqual(
      decided(used(9000), { amount: 1500 }),
      deny({
        code: "PERIOD_AMOUNT_EXCEEDED",
        pointer: "/policy/periods/0/max_amount",
        limit: 10_000,
        requested: 1500,
        used: 9000,
        reserved: 0,
        period: 0,
        resets_at: "2027-01-01T00:00:00.000000000Z"
      })
    )
    assert.deepStrictEqual(decided(used(900), { amount: 150 }), allow)
  })

  it("get an amount released on the next day back only in the period that reserved it (etherfi-protocol/cash-v3#120)", () => {
    const story = activeRecurring({ periods: [{ ...MONTHLY, unit: "DAY", max_amount: 1000 }] })
    const yesterday = after(story, propose(1, { amount: 1000, window: 86_400 }), NOON)
    const today = after(yesterday, propose(2, { amount: 600 }), NOON + DAY - HOUR)
    const released = after(today, cancel(1), NOON + DAY - HOUR)
    assert.strictEqual(decided(released, { amount: 401 }, NOON + DAY - HOUR + SECOND).decision, "DENY")
    assert.deepStrictEqual(decided(released, { amount: 400 }, NOON + DAY - HOUR + SECOND), allow)
    assert.strictEqual(released.stream.mandate.totals.reservedAmount, 600n)
    assert.strictEqual(released.stream.mandate.periods.length, 1)
  })

  it("count a commit after a cancellation once, as late (killbill/killbill#515)", () => {
    const story = activeRecurring({ periods: [{ ...MONTHLY, max_amount: 1000 }] })
    const cancelled = after(after(story, propose(1), NOON), cancel(1), NOON + SECOND)
    const late = after(cancelled, commit(1), NOON + 2n * SECOND)
    assert.deepStrictEqual(decided(late, { amount: 1 }, NOON + HOUR), {
      decision: "DENY",
      reasons: [
        {
          code: "PERIOD_AMOUNT_EXCEEDED",
          pointer: "/policy/periods/0/max_amount",
          limit: 1000,
          requested: 1,
          used: 1000,
          reserved: 0,
          period: 0,
          resets_at: "2027-01-01T00:00:00.000000000Z"
        }
      ]
    })
    const again = after(late, commit(1, { external_action_reference: "act_2" }), NOON + HOUR)
    assert.strictEqual(again.stream.mandate.totals.lateAmount, 1000n)
    assert.strictEqual(again.stream.mandate.totals.lateExecutions, 1)
  })

  it("count late use in the pinned periods that are still current, and in the totals", () => {
    const periods = [
      { ...MONTHLY, unit: "DAY" as const, max_amount: 1000 },
      { ...MONTHLY, max_amount: 1500 }
    ]
    const story = until(after(activeRecurring({ periods }), propose(1), NOON), NOON + DAY)
    const late = after(story, commit(1), NOON + DAY)
    assert.deepStrictEqual(codes(late, { amount: 501 }, NOON + DAY), ["PERIOD_AMOUNT_EXCEEDED"])
    assert.deepStrictEqual(decided(late, { amount: 500 }, NOON + DAY), allow)
    assert.strictEqual(late.stream.mandate.totals.lateAmount, 1000n)
  })

  it("have room again at the boundary of a period, not a nanosecond before", () => {
    const story = activeRecurring({ periods: [{ ...MONTHLY, unit: "DAY", max_amount: 1000 }] })
    const used = after(after(story, propose(1), NOON), commit(1), NOON + SECOND)
    assert.strictEqual(decided(used, {}, STARTS + DAY - 1n).decision, "DENY")
    assert.deepStrictEqual(decided(used, {}, STARTS + DAY), allow)
  })

  it("must have room in every period, and each period without room is a reason", () => {
    const periods = [
      { ...MONTHLY, max_amount: 100_000 },
      { ...MONTHLY, unit: "DAY" as const, max_amount: 1500 },
      { ...MONTHLY, unit: "WEEK" as const, max_amount: 100_000, max_executions: 1 }
    ]
    const story = after(activeRecurring({ periods }), propose(1), NOON)
    assert.deepStrictEqual(decided(story, {}, NOON + SECOND).reasons, [
      {
        code: "PERIOD_AMOUNT_EXCEEDED",
        pointer: "/policy/periods/1/max_amount",
        limit: 1500,
        requested: 1000,
        used: 0,
        reserved: 1000,
        period: 1,
        resets_at: "2026-12-02T00:00:00.000000000Z"
      },
      {
        code: "PERIOD_EXECUTIONS_EXCEEDED",
        pointer: "/policy/periods/2/max_executions",
        limit: 1,
        requested: 1,
        used: 0,
        reserved: 1,
        period: 2,
        resets_at: "2026-12-07T00:00:00.000000000Z"
      }
    ])
  })

  it("give the reasons of totals first: amount, executions, then periods", () => {
    const story = after(
      activeRecurring({
        max_total_amount: 1000,
        max_executions: 1,
        periods: [{ ...MONTHLY, max_executions: 1 }]
      }),
      propose(1),
      NOON
    )
    assert.deepStrictEqual(decided(story, { amount: 1 }, NOON + SECOND).reasons.slice(0, 2), [
      {
        code: "TOTAL_AMOUNT_EXCEEDED",
        pointer: "/policy/max_total_amount",
        limit: 1000,
        requested: 1,
        used: 0,
        reserved: 1000
      },
      {
        code: "TOTAL_EXECUTIONS_EXCEEDED",
        pointer: "/policy/max_executions",
        limit: 1,
        requested: 1,
        used: 0,
        reserved: 1
      }
    ])
    assert.deepStrictEqual(codes(story, { amount: 1 }, NOON + SECOND), [
      "TOTAL_AMOUNT_EXCEEDED",
      "TOTAL_EXECUTIONS_EXCEEDED",
      "PERIOD_EXECUTIONS_EXCEEDED"
    ])
  })

  it("reset at the end of the period, even beyond the window", () => {
    const story = until(
      after(
        created(
          recurring({
            window: { starts_at: "2026-12-01T00:00:00Z", ends_at: "2026-12-15T00:00:00Z" },
            policy: { periods: [{ ...MONTHLY, max_amount: 1 }] }
          })
        ),
        approve,
        at("2026-11-29T00:00:00Z")
      ),
      at("2026-12-01T00:00:00Z")
    )
    const [reason] = evaluatePolicy(
      story.stream,
      { action: "card.create", payment: { amount: 1000, currency: "EUR" } },
      at("2026-12-14T00:00:00Z")
    ).reasons.filter(({ code }) => code === "PERIOD_AMOUNT_EXCEEDED")
    assert.strictEqual(reason?.resets_at, "2027-01-01T00:00:00.000000000Z")
  })

  it("deny sums beyond 2^53-1, which are exact", () => {
    const story = activeRecurring({
      max_amount: MAX_SAFE_INTEGER,
      periods: [{ ...MONTHLY, max_amount: MAX_SAFE_INTEGER }]
    })
    const used = after(story, propose(1, { amount: MAX_SAFE_INTEGER - 1 }), NOON)
    assert.deepStrictEqual(decided(used, { amount: 1 }, NOON + SECOND), allow)
    assert.deepStrictEqual(codes(used, { amount: 2 }, NOON + SECOND), [
      "TOTAL_AMOUNT_EXCEEDED",
      "PERIOD_AMOUNT_EXCEEDED"
    ])
    // Two late reports of the largest amount: shown as 2^53-1, decided on the exact sum.
    const first = after(until(used, NOON + HOUR), commit(1), NOON + HOUR)
    assert.deepStrictEqual(codes(first, { amount: 2 }, NOON + HOUR), [
      "TOTAL_AMOUNT_EXCEEDED",
      "PERIOD_AMOUNT_EXCEEDED"
    ])
  })

  it("may have a prorated share of zero", () => {
    const story = until(
      after(
        created(
          recurring({
            window: { starts_at: "2026-12-31T23:59:59Z", ends_at: "2027-12-01T00:00:00Z" },
            policy: {
              periods: [{ ...MONTHLY, first_period: "PRORATED", max_amount: 100, max_executions: 9 }]
            }
          })
        ),
        approve,
        at("2026-11-29T00:00:00Z")
      ),
      at("2026-12-31T23:59:59Z")
    )
    const verdict = decided(story, { amount: 1 }, at("2026-12-31T23:59:59Z"))
    assert.deepStrictEqual(verdict.reasons, [
      {
        code: "PERIOD_AMOUNT_EXCEEDED",
        pointer: "/policy/periods/0/max_amount",
        limit: 0,
        requested: 1,
        used: 0,
        reserved: 0,
        period: 0,
        resets_at: "2027-01-01T00:00:00.000000000Z"
      },
      {
        code: "PERIOD_EXECUTIONS_EXCEEDED",
        pointer: "/policy/periods/0/max_executions",
        limit: 0,
        requested: 1,
        used: 0,
        reserved: 0,
        period: 0,
        resets_at: "2027-01-01T00:00:00.000000000Z"
      }
    ])
    assert.deepStrictEqual(decided(story, { amount: 100 }, at("2027-01-01T00:00:00Z")), allow)
  })
})
