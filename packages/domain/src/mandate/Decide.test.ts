import { assert, describe, it } from "@effect/vitest"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import { Result } from "effect"
import {
  after,
  approve,
  asked,
  at,
  authorizationId,
  authorizationIn,
  cancel,
  cancelBody,
  commit,
  commitBody,
  created,
  DAY,
  ENDS,
  factsOf,
  HOUR,
  MANDATE_ID,
  MINUTE,
  openingOf,
  type Proposal,
  propose,
  recurring,
  refund,
  reject,
  revoke,
  SECOND,
  STARTS,
  type Story,
  single,
  told,
  until
} from "../../test/MandateStory.ts"
import type { Command } from "./Decide.ts"
import { evolve } from "./Evolve.ts"
import {
  CLOSING_EVENT_BYTES,
  MAX_AUTHORIZATIONS,
  MAX_JOURNAL_BYTES,
  MAX_OPEN_RESERVATIONS,
  MAX_REFUND_REPORTS
} from "./MandateLimits.ts"
import type { AuthorizationState, StreamState } from "./MandateState.ts"

const NOON = STARTS + 12n * HOUR

const pending = created(recurring())
const scheduled = after(pending, approve, at("2026-11-29T00:00:00Z"))
const active = until(scheduled, STARTS)
const rejected = after(pending, reject, at("2026-11-29T00:00:00Z"))
const revoked = after(active, revoke(), NOON)
const expired = until(active, ENDS)
const lapsed = until(pending, at("2026-11-30T00:00:00Z"))
const activeSingle = until(after(created(single()), approve, at("2026-11-29T00:00:00Z")), STARTS)
const consumed = after(after(activeSingle, propose(1), STARTS), commit(1), STARTS + SECOND)

/** A story with authorization 1 in each state, at one instant of an ACTIVE mandate. */
const reserved = after(active, propose(1), STARTS)
const committed = after(reserved, commit(1), STARTS + SECOND)
const cancelled = after(reserved, cancel(1), STARTS + SECOND)
const expiredAuthorization = until(reserved, STARTS + 5n * MINUTE)
const denied = after(active, propose(1, { amount: 9999 }), STARTS)
const indeterminate = after(
  until(
    after(created(recurring({ policy: { allowed_merchants: ["m"] } })), approve, at("2026-11-29T00:00:00Z")),
    STARTS
  ),
  propose(1),
  STARTS
)

const conflict = (state: string) => ["StateConflict", state, MANDATE_ID]
const terminal = (state: string) => ["TerminalStateConflict", state, authorizationId(1)]
const recordedConflict = (state: string) => ({
  recorded: ["authorization.outcome_conflict"],
  refused: terminal(state)
})

interface Row {
  readonly given: Story
  readonly when: Command
  readonly gives: unknown
  readonly now?: bigint
}

const table = (name: string, rows: Readonly<Record<string, Row>>) =>
  describe(name, () => {
    for (const [title, { given, when, gives, now }] of Object.entries(rows)) {
      it(title, () => assert.deepStrictEqual(told(asked(given, when, now ?? NOON)), gives))
    }
  })

/** The same command on a mandate in each state. */
const inEachState = (name: string, when: Command, gives: Readonly<Record<string, unknown>>) => {
  const stories: Readonly<Record<string, readonly [Story, bigint]>> = {
    PENDING_APPROVAL: [pending, at("2026-11-29T00:00:00Z")],
    SCHEDULED: [scheduled, at("2026-11-29T12:00:00Z")],
    ACTIVE: [active, NOON],
    CONSUMED: [consumed, NOON],
    REVOKED: [revoked, NOON + SECOND],
    REJECTED: [rejected, NOON],
    EXPIRED: [expired, ENDS + DAY],
    LAPSED: [lapsed, NOON]
  }
  table(
    name,
    Object.fromEntries(
      Object.entries(stories).map(([state, [given, now]]) => [
        state,
        { given, when, now, gives: gives[state] }
      ])
    )
  )
}

inEachState("Approve", approve, {
  PENDING_APPROVAL: ["mandate.approved"],
  SCHEDULED: conflict("SCHEDULED"),
  ACTIVE: conflict("ACTIVE"),
  CONSUMED: conflict("CONSUMED"),
  REVOKED: conflict("REVOKED"),
  REJECTED: conflict("REJECTED"),
  EXPIRED: conflict("EXPIRED"),
  LAPSED: conflict("EXPIRED")
})

inEachState("Reject", reject, {
  PENDING_APPROVAL: ["mandate.rejected"],
  SCHEDULED: conflict("SCHEDULED"),
  ACTIVE: conflict("ACTIVE"),
  CONSUMED: conflict("CONSUMED"),
  REVOKED: conflict("REVOKED"),
  REJECTED: conflict("REJECTED"),
  EXPIRED: conflict("EXPIRED"),
  LAPSED: conflict("EXPIRED")
})

inEachState("Revoke", revoke("another reason"), {
  PENDING_APPROVAL: ["mandate.revoked"],
  SCHEDULED: ["mandate.revoked"],
  ACTIVE: ["mandate.revoked"],
  CONSUMED: conflict("CONSUMED"),
  REVOKED: conflict("REVOKED"),
  REJECTED: conflict("REJECTED"),
  EXPIRED: conflict("EXPIRED"),
  LAPSED: conflict("EXPIRED")
})

inEachState("Propose: a decision in every state, never a refusal", propose(2), {
  PENDING_APPROVAL: ["authorization.denied"],
  SCHEDULED: ["authorization.denied"],
  ACTIVE: ["authorization.reserved"],
  CONSUMED: ["authorization.denied"],
  REVOKED: ["authorization.denied"],
  REJECTED: ["authorization.denied"],
  EXPIRED: ["authorization.denied"],
  LAPSED: ["authorization.denied"]
})

table("Revoke again", {
  "the same reason is what already is": { given: revoked, when: revoke(), gives: [] },
  "another reason is a conflict": { given: revoked, when: revoke("other"), gives: conflict("REVOKED") }
})

table("the instant itself", {
  "approval at the deadline is too late": {
    given: pending,
    when: approve,
    now: at("2026-11-30T00:00:00Z"),
    gives: conflict("EXPIRED")
  },
  "approval one nanosecond before it is not": {
    given: pending,
    when: approve,
    now: at("2026-11-29T23:59:59.999999999Z"),
    gives: ["mandate.approved"]
  },
  "commit at expires_at is too late": {
    given: reserved,
    when: commit(1),
    now: STARTS + 5n * MINUTE,
    gives: recordedConflict("EXPIRED")
  },
  "commit one nanosecond before it is not": {
    given: reserved,
    when: commit(1),
    now: STARTS + 5n * MINUTE - 1n,
    gives: ["authorization.committed"]
  },
  "cancellation at expires_at is too late": {
    given: reserved,
    when: cancel(1),
    now: STARTS + 5n * MINUTE,
    gives: recordedConflict("EXPIRED")
  },
  "a proposal at window.ends_at is denied": {
    given: active,
    when: propose(1),
    now: ENDS,
    gives: ["authorization.denied"]
  },
  "a proposal at window.starts_at is decided": {
    given: scheduled,
    when: propose(1),
    now: STARTS,
    gives: ["authorization.reserved"]
  }
})

const wrongOpening = { commitment_opening: openingOf(99) }

table("Commit, by precedence", {
  "unknown authorization before everything": {
    given: active,
    when: commit(7, { reported_accepted_at: "2030-01-01T00:00:00Z" }),
    gives: ["NotFound"]
  },
  "the opening before time": {
    given: reserved,
    when: commit(1, { ...wrongOpening, reported_accepted_at: "2030-01-01T00:00:00Z" }),
    now: STARTS + SECOND,
    gives: ["CommitmentMismatch"]
  },
  "the opening before the state: COMMITTED": {
    given: committed,
    when: commit(1, wrongOpening),
    gives: ["CommitmentMismatch"]
  },
  "the opening before the state: EXPIRED": {
    given: expiredAuthorization,
    when: commit(1, wrongOpening),
    gives: ["CommitmentMismatch"]
  },
  "the opening before the state: DENIED": {
    given: denied,
    when: commit(1, wrongOpening),
    gives: ["CommitmentMismatch"]
  },
  "time before the state": {
    given: denied,
    when: commit(1, { reported_accepted_at: "2030-01-01T00:00:00Z" }),
    gives: ["ValidationFailed", "/reported_accepted_at in_future"]
  },
  RESERVED: { given: reserved, when: commit(1), now: STARTS + SECOND, gives: ["authorization.committed"] },
  "COMMITTED, the same content": { given: committed, when: commit(1), gives: [] },
  "COMMITTED, the same instant in other digits": {
    given: committed,
    when: commit(1, { reported_accepted_at: "2026-12-01T00:00:01.000Z" }),
    gives: []
  },
  "COMMITTED, another action reference": {
    given: committed,
    when: commit(1, { external_action_reference: "act_2" }),
    gives: recordedConflict("COMMITTED")
  },
  "COMMITTED, another transaction reference": {
    given: committed,
    when: commit(1, { provider_transaction_reference: "txn_2" }),
    gives: recordedConflict("COMMITTED")
  },
  "COMMITTED, another instant": {
    given: committed,
    when: commit(1, { reported_accepted_at: "2026-12-01T00:00:01.000000001Z" }),
    gives: recordedConflict("COMMITTED")
  },
  "CANCELLED (killbill 515: cancel, then commit)": {
    given: cancelled,
    when: commit(1),
    gives: recordedConflict("CANCELLED")
  },
  EXPIRED: { given: expiredAuthorization, when: commit(1), gives: recordedConflict("EXPIRED") },
  "DENIED records nothing": { given: denied, when: commit(1), gives: terminal("DENIED") },
  "INDETERMINATE records nothing": { given: indeterminate, when: commit(1), gives: terminal("INDETERMINATE") }
})

table("Commit, reported_accepted_at", {
  "300 s in the future": {
    given: reserved,
    when: commit(1, { reported_accepted_at: "2026-12-01T00:05:01Z" }),
    now: STARTS + SECOND,
    gives: ["authorization.committed"]
  },
  "a nanosecond more": {
    given: reserved,
    when: commit(1, { reported_accepted_at: "2026-12-01T00:05:01.000000001Z" }),
    now: STARTS + SECOND,
    gives: ["ValidationFailed", "/reported_accepted_at in_future"]
  },
  "long before created_at is recorded": {
    given: reserved,
    when: commit(1, { reported_accepted_at: "2000-01-01T00:00:00Z" }),
    now: STARTS + SECOND,
    gives: ["authorization.committed"]
  }
})

table("Cancel, by precedence", {
  "unknown authorization": { given: active, when: cancel(7), gives: ["NotFound"] },
  RESERVED: { given: reserved, when: cancel(1), now: STARTS + SECOND, gives: ["authorization.cancelled"] },
  "CANCELLED, the same content": { given: cancelled, when: cancel(1), gives: [] },
  "CANCELLED, another reason": {
    given: cancelled,
    when: cancel(1, { reason: "DUPLICATE" }),
    gives: recordedConflict("CANCELLED")
  },
  "CANCELLED, a credential reference more": {
    given: cancelled,
    when: cancel(1, { external_credential_reference: "card_1" }),
    gives: recordedConflict("CANCELLED")
  },
  "CANCELLED, another disposition": {
    given: after(reserved, cancel(1, { external_credential_reference: "card_1" }), STARTS + SECOND),
    when: cancel(1, {
      execution_disposition: "NO_LONGER_POSSIBLE",
      external_credential_reference: "card_1"
    }),
    gives: recordedConflict("CANCELLED")
  },
  COMMITTED: { given: committed, when: cancel(1), gives: recordedConflict("COMMITTED") },
  EXPIRED: { given: expiredAuthorization, when: cancel(1), gives: recordedConflict("EXPIRED") },
  "DENIED records nothing": { given: denied, when: cancel(1), gives: terminal("DENIED") },
  "INDETERMINATE records nothing": { given: indeterminate, when: cancel(1), gives: terminal("INDETERMINATE") }
})

describe("what is open on a mandate that ended", () => {
  const revokedOpen = after(reserved, revoke(), STARTS + SECOND)
  const endedOpen = until(after(active, propose(1, { grace: 3600 }), ENDS - SECOND), ENDS)

  for (const [name, story, now] of [
    ["revoked", revokedOpen, STARTS + 2n * SECOND],
    ["expired", endedOpen, ENDS + SECOND]
  ] as const) {
    it(`${name}: stays RESERVED and can be committed or cancelled, and the mandate's state stays`, () => {
      assert.strictEqual(authorizationIn(story, 1).state, "RESERVED")
      const when = { reported_accepted_at: "2026-12-01T00:00:01Z" }
      const closed = after(story, commit(1, when), now)
      assert.strictEqual(authorizationIn(closed, 1).state, "COMMITTED")
      assert.strictEqual(closed.stream.mandate.state, story.stream.mandate.state)
      assert.strictEqual(closed.stream.mandate.version, story.stream.mandate.version)
      assert.deepStrictEqual(told(asked(story, cancel(1), now)), ["authorization.cancelled"])
    })
  }

  it("expires in its own time, after the mandate", () => {
    const late = until(endedOpen, ENDS + HOUR)
    assert.strictEqual(authorizationIn(late, 1).state, "EXPIRED")
    assert.strictEqual(authorizationIn(late, 1).closedAt, "2027-12-01T01:00:00.000000000Z")
    assert.strictEqual(late.stream.mandate.endedAt, "2027-12-01T00:00:00.000000000Z")
  })
})

describe("CONSUMED", () => {
  it("SINGLE is consumed by its commit, in one write, the new version on the second event", () => {
    const facts = factsOf(asked(after(activeSingle, propose(1), STARTS), commit(1), STARTS + SECOND))
    assert.deepStrictEqual(
      facts.map((fact) => [fact.type, fact.occurred_at]),
      [
        ["authorization.committed", "2026-12-01T00:00:01.000000000Z"],
        ["mandate.consumed", "2026-12-01T00:00:01.000000000Z"]
      ]
    )
    assert.deepStrictEqual(facts[1]?.data, { authorization_id: authorizationId(1) })
    assert.strictEqual(consumed.stream.mandate.version, 4)
  })

  const bounded = (policy: { max_total_amount?: number; max_executions?: number }) =>
    until(after(created(recurring({ policy })), approve, at("2026-11-29T00:00:00Z")), STARTS)

  it("RECURRING by the commit that fills max_total_amount, not before", () => {
    const story = after(
      after(bounded({ max_total_amount: 1500 }), propose(1, { amount: 1000 }), STARTS),
      propose(2, { amount: 500 }),
      STARTS
    )
    const first = after(story, commit(2), STARTS + SECOND)
    assert.strictEqual(first.stream.mandate.state, "ACTIVE")
    const both = after(first, commit(1), STARTS + SECOND)
    assert.strictEqual(both.stream.mandate.state, "CONSUMED")
  })

  it("RECURRING by the commit that fills max_executions", () => {
    const story = after(bounded({ max_executions: 1 }), propose(1, { amount: 1 }), STARTS)
    assert.deepStrictEqual(told(asked(story, commit(1), STARTS + SECOND)), [
      "authorization.committed",
      "mandate.consumed"
    ])
  })

  it("RECURRING by no commit before max_executions is filled", () => {
    const story = after(
      after(bounded({ max_executions: 2 }), propose(1, { amount: 1 }), STARTS),
      propose(2, { amount: 1 }),
      STARTS
    )
    assert.deepStrictEqual(told(asked(story, commit(1), STARTS + SECOND)), ["authorization.committed"])
    const first = after(story, commit(1), STARTS + SECOND)
    assert.deepStrictEqual(told(asked(first, commit(2), STARTS + SECOND)), [
      "authorization.committed",
      "mandate.consumed"
    ])
  })

  it("late use fills a budget and consumes nothing", () => {
    const late = after(
      until(after(bounded({ max_executions: 1 }), propose(1), STARTS), STARTS + HOUR),
      commit(1),
      STARTS + HOUR
    )
    assert.strictEqual(late.stream.mandate.state, "ACTIVE")
    assert.strictEqual(late.stream.mandate.totals.lateExecutions, 1)
    assert.deepStrictEqual(told(asked(late, propose(2), STARTS + HOUR)), ["authorization.denied"])
  })

  it("a commit on a REVOKED mandate does not consume it", () => {
    const story = after(after(activeSingle, propose(1), STARTS), revoke(), STARTS + SECOND)
    assert.deepStrictEqual(told(asked(story, commit(1), STARTS + 2n * SECOND)), ["authorization.committed"])
  })
})

describe("conflicting outcomes", () => {
  const contradicting = (number: number) => cancel(1, { external_credential_reference: `card_${number}` })
  const ten = Array.from({ length: 10 }, (_, index) => index).reduce(
    (story, index) => after(story, contradicting(index), NOON),
    expiredAuthorization
  )

  it("are recorded once per content", () => {
    const once = after(expiredAuthorization, cancel(1), NOON)
    assert.deepStrictEqual(told(asked(once, cancel(1), NOON + HOUR)), terminal("EXPIRED"))
    assert.deepStrictEqual(
      told(asked(once, cancel(1, { reason: "DUPLICATE" }), NOON)),
      recordedConflict("EXPIRED")
    )
  })

  it("are compared as values: timestamps by instant", () => {
    const once = after(committed, commit(1, { reported_accepted_at: "2026-12-01T00:00:09.5Z" }), NOON)
    assert.deepStrictEqual(
      told(asked(once, commit(1, { reported_accepted_at: "2026-12-01T00:00:09.500Z" }), NOON)),
      terminal("COMMITTED")
    )
  })

  it("are recorded ten times per authorization and no more", () => {
    assert.deepStrictEqual(told(asked(ten, contradicting(10), NOON)), terminal("EXPIRED"))
    assert.deepStrictEqual(told(asked(ten, contradicting(3), NOON)), terminal("EXPIRED"))
  })

  it("the first late commit is recorded always", () => {
    assert.deepStrictEqual(told(asked(ten, commit(1), NOON)), recordedConflict("EXPIRED"))
    const late = after(ten, commit(1), NOON)
    const second = commit(1, { external_action_reference: "act_2" })
    assert.deepStrictEqual(told(asked(late, second, NOON)), terminal("EXPIRED"))
  })

  it("carry the content as it was reported, and whether it counts as late use", () => {
    const [first] = factsOf(asked(expiredAuthorization, commit(1), NOON))
    assert.deepStrictEqual(first?.data, { reported: "COMMITTED", content: commitBody(1), late: true })
    const second = after(expiredAuthorization, commit(1), NOON)
    const another = { external_action_reference: "act_2" }
    const [next] = factsOf(asked(second, commit(1, another), NOON))
    assert.deepStrictEqual(next?.data, {
      reported: "COMMITTED",
      content: commitBody(1, another),
      late: false
    })
    const [again] = factsOf(asked(committed, commit(1, another), NOON))
    assert.deepStrictEqual(again?.data, {
      reported: "COMMITTED",
      content: commitBody(1, another),
      late: false
    })
    const [cancellation] = factsOf(asked(committed, cancel(1), NOON))
    assert.deepStrictEqual(cancellation?.data, { reported: "CANCELLED", content: cancelBody(), late: false })
  })

  it("change no state", () => {
    const late = after(expiredAuthorization, commit(1), NOON)
    assert.strictEqual(authorizationIn(late, 1).state, "EXPIRED")
    assert.isUndefined(authorizationIn(late, 1).commit)
    assert.strictEqual(late.stream.mandate.version, expiredAuthorization.stream.mandate.version)
  })

  it("are not recorded when the journal has no room, but the first late commit is", () => {
    assert.deepStrictEqual(
      told(asked(expiredAuthorization, cancel(1), NOON, MAX_JOURNAL_BYTES)),
      terminal("EXPIRED")
    )
    assert.deepStrictEqual(
      told(asked(expiredAuthorization, commit(1), NOON, MAX_JOURNAL_BYTES)),
      recordedConflict("EXPIRED")
    )
  })
})

table("refunds, by precedence", {
  "unknown authorization": { given: active, when: refund(7), gives: ["NotFound"] },
  "time before state": {
    given: reserved,
    when: refund(1, { reported_refunded_at: "2030-01-01T00:00:00Z" }),
    now: STARTS + SECOND,
    gives: ["ValidationFailed", "/reported_refunded_at in_future"]
  },
  RESERVED: {
    given: reserved,
    when: refund(1, { currency: "USD" }),
    now: STARTS + SECOND,
    gives: ["StateConflict", "RESERVED", authorizationId(1)]
  },
  CANCELLED: {
    given: cancelled,
    when: refund(1),
    gives: ["StateConflict", "CANCELLED", authorizationId(1)]
  },
  EXPIRED: {
    given: expiredAuthorization,
    when: refund(1),
    gives: ["StateConflict", "EXPIRED", authorizationId(1)]
  },
  DENIED: { given: denied, when: refund(1), gives: ["StateConflict", "DENIED", authorizationId(1)] },
  "another currency before the sum": {
    given: committed,
    when: refund(1, { currency: "USD", amount: 5000 }),
    gives: ["ValidationFailed", "/currency invalid_value"]
  },
  "the whole amount": {
    given: committed,
    when: refund(1, { amount: 1000 }),
    gives: ["authorization.refund_reported"]
  },
  "one more": { given: committed, when: refund(1, { amount: 1001 }), gives: ["RefundExceedsCommitted"] },
  "the sum of several": {
    given: after(after(committed, refund(1, { amount: 600 }), NOON), refund(1, { amount: 400 }), NOON),
    when: refund(1, { amount: 1 }),
    gives: ["RefundExceedsCommitted"]
  },
  "after the mandate ended": {
    given: until(committed, ENDS),
    when: refund(1),
    now: ENDS + DAY,
    gives: ["authorization.refund_reported"]
  }
})

it("a refund restores no budget and moves no state", () => {
  const story = after(committed, refund(1, { amount: 1000 }), NOON)
  assert.strictEqual(story.stream.mandate.totals.committedAmount, 1000n)
  assert.strictEqual(story.stream.mandate.version, committed.stream.mandate.version)
  assert.deepStrictEqual(authorizationIn(story, 1).refunds.length, 1)
})

describe("limits of a mandate", () => {
  const withOpen = (count: number): Story => {
    const [one] = reserved.stream.open
    if (one === undefined) throw new Error("nothing is open")
    const open = Array.from({ length: count }, (_, index) => ({
      ...one,
      id: authorizationId(1000 + index),
      order: index + 1,
      amount: 1n
    }))
    return { ...reserved, stream: { ...reserved.stream, open } }
  }
  const now = STARTS + SECOND

  it("256 open reservations", () => {
    const asks = (count: number, proposal: Proposal = { amount: 1 }) =>
      told(asked(withOpen(count), propose(2, proposal), now))
    assert.deepStrictEqual(asks(MAX_OPEN_RESERVATIONS - 1), ["authorization.reserved"])
    assert.deepStrictEqual(asks(MAX_OPEN_RESERVATIONS), ["MandateLimitReached"])
    assert.deepStrictEqual(asks(MAX_OPEN_RESERVATIONS, { amount: 9999 }), ["authorization.denied"])
  })

  it("10,000 authorizations, whatever would be decided", () => {
    const counted = (authorizationCount: number): Story => ({
      ...active,
      stream: { ...active.stream, mandate: { ...active.stream.mandate, authorizationCount } }
    })
    assert.deepStrictEqual(told(asked(counted(MAX_AUTHORIZATIONS - 1), propose(1), NOON)), [
      "authorization.reserved"
    ])
    assert.deepStrictEqual(told(asked(counted(MAX_AUTHORIZATIONS), propose(1), NOON)), [
      "MandateLimitReached"
    ])
    assert.deepStrictEqual(told(asked(counted(MAX_AUTHORIZATIONS), propose(1, { amount: 9999 }), NOON)), [
      "MandateLimitReached"
    ])
  })

  it("100 refund reports of an authorization", () => {
    const refunded = (count: number): Story => {
      const authorization = authorizationIn(committed, 1)
      const report = {
        amount: 1,
        currency: "EUR",
        provider_refund_reference: "r",
        reported_refunded_at: "2026-12-01T00:00:02Z"
      }
      const changed: AuthorizationState = { ...authorization, refunds: Array(count).fill(report) }
      return {
        ...committed,
        stream: { ...committed.stream, authorizations: new Map([[changed.id, changed]]) }
      }
    }
    const one = refund(1, { amount: 1 })
    assert.deepStrictEqual(told(asked(refunded(MAX_REFUND_REPORTS - 1), one, NOON)), [
      "authorization.refund_reported"
    ])
    assert.deepStrictEqual(told(asked(refunded(MAX_REFUND_REPORTS), one, NOON)), ["MandateLimitReached"])
  })

  it("32 MiB of journal, less what closing everything may take", () => {
    const full = MAX_JOURNAL_BYTES - 8192
    assert.deepStrictEqual(told(asked(active, propose(1), NOON, full)), ["MandateLimitReached"])
    assert.deepStrictEqual(told(asked(active, propose(1, { amount: 9999 }), NOON, full)), [
      "MandateLimitReached"
    ])
    assert.deepStrictEqual(told(asked(committed, refund(1), NOON, full)), ["MandateLimitReached"])
    assert.deepStrictEqual(told(asked(active, propose(1), NOON, MAX_JOURNAL_BYTES - 40_000)), [
      "authorization.reserved"
    ])
  })

  it("32 MiB to the byte: the event, its frame, and one for each that will close", () => {
    const twoOpen = after(reserved, propose(2), STARTS)
    // How many events must still fit behind: of the open reservations, of a new one, and of the mandate.
    for (const [story, command, closing] of [
      [active, propose(3), 2],
      [active, propose(3, { attributes: { title: "Bücher 📚", "10": '"\n' } }), 2],
      [twoOpen, propose(3), 4],
      [twoOpen, propose(3, { amount: 9999 }), 3]
    ] as const) {
      const [fact] = factsOf(asked(story, command, STARTS))
      const bytes = new TextEncoder().encode(canonicalJson(fact?.data as never)).length
      const most = MAX_JOURNAL_BYTES - bytes - (1 + closing) * CLOSING_EVENT_BYTES
      assert.lengthOf(factsOf(asked(story, command, STARTS, most)), 1)
      assert.deepStrictEqual(told(asked(story, command, STARTS, most + 1)), ["MandateLimitReached"])
    }
  })

  it("a contradicting report is recorded while there is room, the first late commit always", () => {
    const now = STARTS + HOUR
    const cancelled = after(reserved, cancel(1), STARTS + SECOND)
    const other = cancel(1, { reason: "DUPLICATE" })
    assert.deepStrictEqual(told(asked(cancelled, other, now)), recordedConflict("CANCELLED"))
    assert.notDeepEqual(told(asked(cancelled, other, now, MAX_JOURNAL_BYTES)), recordedConflict("CANCELLED"))
    const late = asked(cancelled, commit(1), now, MAX_JOURNAL_BYTES)
    assert.deepStrictEqual(told(late), recordedConflict("CANCELLED"))
  })

  it("closing what is open always fits", () => {
    const now = STARTS + SECOND
    assert.deepStrictEqual(told(asked(reserved, commit(1), now, MAX_JOURNAL_BYTES)), [
      "authorization.committed"
    ])
    assert.deepStrictEqual(told(asked(reserved, cancel(1), now, MAX_JOURNAL_BYTES)), [
      "authorization.cancelled"
    ])
    assert.deepStrictEqual(told(asked(reserved, revoke(), now, MAX_JOURNAL_BYTES)), ["mandate.revoked"])
  })
})

describe("deadlines of a reservation", () => {
  const deadlines = (story: Story, command: Command, now: bigint) => {
    const [fact] = factsOf(asked(story, command, now))
    if (fact === undefined || !("execute_before" in fact.data)) throw new Error("nothing is reserved")
    const { execute_before, expires_at, report_grace_seconds } = fact.data
    return [execute_before, expires_at, report_grace_seconds]
  }

  it("execute_before is the decision instant plus the window; expires_at adds the grace", () => {
    assert.deepStrictEqual(deadlines(active, propose(1, { window: 30 }), NOON), [
      "2026-12-01T12:00:30.000000000Z",
      "2026-12-01T12:00:30.000000000Z",
      0
    ])
    assert.deepStrictEqual(deadlines(active, propose(1, { window: 30, grace: 3600 }), NOON), [
      "2026-12-01T12:00:30.000000000Z",
      "2026-12-01T13:00:30.000000000Z",
      3600
    ])
  })

  it("execute_before never passes window.ends_at, which it then is as given; the grace does", () => {
    const atEnd = deadlines(active, propose(1, { window: 86_400 }), ENDS - SECOND)
    assert.deepStrictEqual(atEnd, ["2027-12-01T00:00:00Z", "2027-12-01T00:00:00Z", 0])
    assert.deepStrictEqual(deadlines(active, propose(1, { window: 86_400, grace: 60 }), ENDS - SECOND), [
      "2027-12-01T00:00:00Z",
      "2027-12-01T00:01:00.000000000Z",
      60
    ])
  })

  it("a commit within the grace is a commit", () => {
    const story = after(active, propose(1, { window: 30, grace: 60 }), NOON)
    assert.deepStrictEqual(told(asked(story, commit(1), NOON + 89n * SECOND)), ["authorization.committed"])
    assert.deepStrictEqual(told(asked(story, commit(1), NOON + 90n * SECOND)), recordedConflict("EXPIRED"))
  })

  it("only an ALLOW has deadlines", () => {
    const [fact] = factsOf(asked(active, propose(1, { amount: 9999 }), NOON))
    assert.notProperty(fact?.data, "execute_before")
    assert.notProperty(fact?.data, "expires_at")
    assert.notProperty(fact?.data, "report_grace_seconds")
  })
})

describe("a proposal's facts", () => {
  it("carry the input, the decision and the usage before it", () => {
    const [fact] = factsOf(
      asked(after(active, propose(1, { amount: 1500 }), NOON), propose(2), NOON + SECOND)
    )
    assert.deepStrictEqual(fact, {
      type: "authorization.reserved",
      occurred_at: "2026-12-01T12:00:01.000000000Z",
      authorization_id: authorizationId(2),
      data: {
        rules_version: 1,
        external_reference: "order 2",
        proposed_action: { action: "card.create", payment: { amount: 1000, currency: "EUR" } },
        commitment: (propose(2) as Extract<Command, { _tag: "Propose" }>).body.commitment,
        execution_window_seconds: 300,
        decision: "ALLOW",
        reasons: [],
        execute_before: "2026-12-01T12:05:01.000000000Z",
        expires_at: "2026-12-01T12:05:01.000000000Z",
        report_grace_seconds: 0,
        usage: {
          committed_amount: 0,
          reserved_amount: 1500,
          late_amount: 0,
          committed_executions: 0,
          reserved_executions: 1,
          late_executions: 0,
          periods: [
            {
              period: 0,
              starts_at: "2026-12-01T00:00:00.000000000Z",
              ends_at: "2027-01-01T00:00:00.000000000Z",
              max_amount: 20_000,
              committed_amount: 0,
              reserved_amount: 1500,
              late_amount: 0,
              committed_executions: 0,
              reserved_executions: 1,
              late_executions: 0
            }
          ]
        }
      }
    })
  })

  it("are bounded by the end of every period evaluated, and by nothing that has come", () => {
    const boundaries = (story: Story, now: bigint) =>
      Result.getOrThrow(asked(story, propose(9), now)).boundaries
    assert.deepStrictEqual(boundaries(active, NOON), [at("2027-01-01T00:00:00Z")])
    for (const [story, now] of [
      [expired, ENDS + 400n * DAY],
      [revoked, ENDS + 400n * DAY],
      [lapsed, ENDS + 400n * DAY]
    ] as const) {
      for (const boundary of boundaries(story, now)) assert.isTrue(boundary > now)
    }
  })
})

it("the facts of a decision fold onto the stream that it was made on, and raise its version once for each of the mandate", () => {
  const commands: ReadonlyArray<readonly [Story, Command]> = [
    [active, propose(1)],
    [reserved, revoke()],
    [expiredAuthorization, commit(1)],
    [committed, refund(1)]
  ]
  for (const [story, command] of commands) {
    const { facts } = Result.getOrThrow(asked(story, command, STARTS + HOUR))
    const before = until(story, STARTS + HOUR).stream
    const after = facts.reduce<StreamState>(evolve, before)
    const raised = facts.filter(({ type }) => type.startsWith("mandate.")).length
    assert.isAbove(facts.length, 0)
    assert.strictEqual(after.mandate.version, before.mandate.version + raised)
  }
})

it("a refusal for a state names the states that would do", () => {
  const rows: ReadonlyArray<readonly [Story, Command, ReadonlyArray<string>]> = [
    [active, approve, ["PENDING_APPROVAL"]],
    [active, reject, ["PENDING_APPROVAL"]],
    [expired, revoke(), ["PENDING_APPROVAL", "SCHEDULED", "ACTIVE"]],
    [revoked, revoke("another reason"), ["PENDING_APPROVAL", "SCHEDULED", "ACTIVE"]],
    [reserved, refund(1), ["COMMITTED"]]
  ]
  for (const [story, command, needed] of rows) {
    const verdict = asked(story, command, NOON)
    const refusal = Result.isFailure(verdict) ? verdict.failure : undefined
    assert.deepStrictEqual(refusal?._tag === "StateConflict" ? refusal.needed : undefined, needed)
  }
})

describe("the instants at which a decision may differ", () => {
  const boundaries = (story: Story, command: Command, now: bigint) => {
    const verdict = asked(story, command, now)
    return Result.isSuccess(verdict) ? verdict.success.boundaries : assert.fail(verdict.failure._tag)
  }

  it("are the ends of the periods that a proposal is decided in, unless they have come", () => {
    assert.deepStrictEqual(boundaries(active, propose(1), NOON), [at("2027-01-01T00:00:00Z")])
    assert.deepStrictEqual(boundaries(expired, propose(1), ENDS), [])
    assert.deepStrictEqual(boundaries(expired, propose(1), ENDS + DAY), [])
  })

  it("are none for a command that does not ask what may be used", () => {
    const soon = STARTS + SECOND
    const committed = after(reserved, commit(1), soon)
    const rows: ReadonlyArray<readonly [Story, Command]> = [
      [pending, approve],
      [pending, reject],
      [active, revoke()],
      [reserved, commit(1)],
      [committed, commit(1)],
      [reserved, cancel(1)],
      [committed, cancel(1)],
      [committed, refund(1)]
    ]
    for (const [story, command] of rows) {
      const now = story === pending ? at("2026-11-29T00:00:00Z") : soon
      assert.deepStrictEqual(boundaries(story, command, now), [], command._tag)
    }
  })
})

it("an authorization that may be executed until the window's end says so as the caller wrote the end", () => {
  const [fact] = factsOf(asked(active, propose(1, { window: 3600 }), ENDS - HOUR))
  assert.strictEqual(
    fact?.type === "authorization.reserved" && fact.data.execute_before,
    "2027-12-01T00:00:00Z"
  )
})
