import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  after,
  approve,
  at,
  authorizationId,
  cancel,
  commit,
  created,
  DAY,
  DEADLINE,
  ENDS,
  HOUR,
  MINUTE,
  propose,
  recurring,
  reject,
  revoke,
  SECOND,
  STARTS,
  type Story,
  single,
  until
} from "../../test/MandateStory.ts"
import { applyDue, nextDueOf, nextTransition } from "./ApplyDue.ts"

const pending = created(recurring())
const scheduled = after(pending, approve, at("2026-11-29T00:00:00Z"))
const active = until(scheduled, STARTS)

/** Type, instant and authorization of what is due. */
const due = (story: Story, now: bigint) =>
  applyDue(story.stream, now).facts.map((fact) => [
    fact.type,
    fact.occurred_at,
    ...("authorization_id" in fact ? [fact.authorization_id] : [])
  ])

describe("transitions of the mandate", () => {
  it("PENDING_APPROVAL expires at its deadline, not before", () => {
    assert.deepStrictEqual(due(pending, DEADLINE - 1n), [])
    assert.deepStrictEqual(due(pending, DEADLINE), [["mandate.expired", "2026-11-30T00:00:00.000000000Z"]])
    const { mandate } = until(pending, DEADLINE + 9n * DAY).stream
    assert.deepStrictEqual(
      [mandate.state, mandate.endReason, mandate.version, mandate.endedAt, mandate.updatedAt],
      [
        "EXPIRED",
        "APPROVAL_DEADLINE_PASSED",
        2,
        "2026-11-30T00:00:00.000000000Z",
        "2026-11-30T00:00:00.000000000Z"
      ]
    )
  })

  it("PENDING_APPROVAL gives the deadline as its reason, also where that is ends_at", () => {
    const story = created(recurring({ approval_deadline: "2027-12-01T00:00:00Z" }))
    assert.strictEqual(until(story, ENDS).stream.mandate.endReason, "APPROVAL_DEADLINE_PASSED")
    assert.deepStrictEqual(due(story, ENDS), [["mandate.expired", "2027-12-01T00:00:00.000000000Z"]])
  })

  it("SCHEDULED becomes ACTIVE at starts_at, ACTIVE expires at ends_at, each in its turn", () => {
    assert.deepStrictEqual(due(scheduled, STARTS - 1n), [])
    assert.deepStrictEqual(due(scheduled, STARTS), [["mandate.activated", "2026-12-01T00:00:00.000000000Z"]])
    assert.deepStrictEqual(due(scheduled, ENDS), [
      ["mandate.activated", "2026-12-01T00:00:00.000000000Z"],
      ["mandate.expired", "2027-12-01T00:00:00.000000000Z"]
    ])
    assert.deepStrictEqual(due(active, ENDS - 1n), [])
    const { mandate } = until(scheduled, ENDS).stream
    assert.deepStrictEqual(
      [mandate.state, mandate.endReason, mandate.version],
      ["EXPIRED", "WINDOW_ENDED", 4]
    )
  })

  it("approved after its start, a mandate is ACTIVE at once with version 2", () => {
    const story = created(recurring({ approval_deadline: "2027-01-01T00:00:00Z" }))
    assert.deepStrictEqual(
      [
        after(story, approve, STARTS).stream.mandate.state,
        after(story, approve, STARTS).stream.mandate.version
      ],
      ["ACTIVE", 2]
    )
    assert.strictEqual(after(story, approve, STARTS - 1n).stream.mandate.state, "SCHEDULED")
  })

  it("terminal states never move again", () => {
    const ended = [
      after(pending, reject, at("2026-11-29T00:00:00Z")),
      after(scheduled, revoke(), at("2026-11-29T12:00:00Z")),
      after(active, revoke(), STARTS + SECOND),
      until(pending, DEADLINE),
      until(active, ENDS)
    ]
    for (const story of ended) {
      assert.deepStrictEqual(due(story, ENDS + 1000n * DAY), [])
      assert.isUndefined(nextDueOf(story.stream))
    }
  })
})

describe("several at once", () => {
  const window = { window: 30 }
  const three = [3, 1, 2].reduce(
    (story, number) => after(story, propose(number, { ...window, amount: 1 }), STARTS),
    active
  )

  it("at one instant, authorizations in order of creation", () => {
    assert.deepStrictEqual(due(three, STARTS + HOUR), [
      ["authorization.expired", "2026-12-01T00:00:30.000000000Z", authorizationId(3)],
      ["authorization.expired", "2026-12-01T00:00:30.000000000Z", authorizationId(1)],
      ["authorization.expired", "2026-12-01T00:00:30.000000000Z", authorizationId(2)]
    ])
  })

  it("an earlier instant first, whatever the order of creation", () => {
    const story = after(
      after(active, propose(1, { window: 300 }), STARTS),
      propose(2, { window: 60 }),
      STARTS
    )
    assert.deepStrictEqual(
      due(story, STARTS + HOUR).map((entry) => entry[2]),
      [authorizationId(2), authorizationId(1)]
    )
  })

  it("at the end of the window authorizations expire before the mandate", () => {
    const story = after(after(active, propose(1), ENDS - SECOND), propose(2), ENDS - SECOND)
    assert.deepStrictEqual(due(story, ENDS), [
      ["authorization.expired", "2027-12-01T00:00:00.000000000Z", authorizationId(1)],
      ["authorization.expired", "2027-12-01T00:00:00.000000000Z", authorizationId(2)],
      ["mandate.expired", "2027-12-01T00:00:00.000000000Z"]
    ])
  })

  it("with a grace they expire after it", () => {
    const story = after(active, propose(1, { grace: 60 }), ENDS - SECOND)
    assert.deepStrictEqual(due(story, ENDS + HOUR), [
      ["mandate.expired", "2027-12-01T00:00:00.000000000Z"],
      ["authorization.expired", "2027-12-01T00:01:00.000000000Z", authorizationId(1)]
    ])
  })

  it("what was closed does not expire", () => {
    const closed = after(after(three, commit(1), STARTS + SECOND), cancel(2), STARTS + SECOND)
    assert.deepStrictEqual(
      due(closed, STARTS + HOUR).map((entry) => entry[2]),
      [authorizationId(3)]
    )
  })

  it("reservations of a revoked mandate still expire", () => {
    const story = after(three, revoke(), STARTS + SECOND)
    assert.strictEqual(due(story, STARTS + HOUR).length, 3)
    assert.strictEqual(until(story, STARTS + HOUR).stream.mandate.state, "REVOKED")
  })
})

describe("time in steps or at once", () => {
  const story = after(
    after(
      created(single({ window: { starts_at: "2026-12-01T00:00:00Z", ends_at: "2026-12-01T00:10:00Z" } })),
      approve,
      at("2026-11-29T00:00:00Z")
    ),
    propose(1),
    STARTS
  )
  it("leads to the same", () => {
    const end = STARTS + HOUR
    let stepped = story
    for (let now = STARTS; now <= end; now += MINUTE) stepped = until(stepped, now)
    assert.deepStrictEqual(stepped, until(story, end))
    assert.deepStrictEqual(applyDue(stepped.stream, end + 100n * DAY).facts, [])
  })
  it("is announced: the next instant is after now, and is when something happens", () => {
    for (const current of [pending, scheduled, active, story]) {
      const next = nextDueOf(current.stream)
      if (next === undefined) continue
      assert.deepStrictEqual(due(current, next - 1n), [])
      assert.isAbove(due(current, next).length, 0)
    }
  })
})

it("activation comes before an expiry that is due at the same instant (part 4)", () => {
  const { open } = after(active, propose(1, { window: 60 }), STARTS).stream
  const atStart = open.map((reservation) => ({ ...reservation, expiresAt: STARTS }))
  assert.strictEqual(nextTransition({ ...scheduled.stream, open: atStart })?.fact.type, "mandate.activated")
  assert.strictEqual(nextTransition({ ...active.stream, open: atStart })?.fact.type, "authorization.expired")
})

it("what is due next is the least by instant, then activation, then expiries by creation, then the end (part 4)", () => {
  const { open } = after(active, propose(1, { window: 60 }), STARTS).stream
  const instants = [DEADLINE, STARTS, ENDS].flatMap((own) => [own - 1n, own, own + 1n])
  const story = fc.constantFrom(pending, scheduled, active, after(active, revoke(), STARTS))
  fc.assert(
    fc.property(story, fc.array(fc.constantFrom(...instants), { maxLength: 4 }), ({ stream }, expiries) => {
      const { mandate } = stream
      const candidates = [
        ...(mandate.state === "PENDING_APPROVAL" ? [[DEADLINE, 2, "mandate.expired"] as const] : []),
        ...(mandate.state === "SCHEDULED" ? [[STARTS, 0, "mandate.activated"] as const] : []),
        ...(mandate.state === "ACTIVE" ? [[ENDS, 2, "mandate.expired"] as const] : []),
        ...expiries.map((at, index) => [at, 1, authorizationId(index)] as const)
      ]
      // A stable sort, so that those of one instant and rank stay in order of creation.
      const [first] = candidates.sort(([at, rank], [otherAt, otherRank]) =>
        at === otherAt ? rank - otherRank : at < otherAt ? -1 : 1
      )
      const reserved = expiries.map((expiresAt, index) => ({
        ...open[0]!,
        id: authorizationId(index),
        expiresAt
      }))
      const next = nextTransition({ ...stream, open: reserved })
      const named = next && "authorization_id" in next.fact ? next.fact.authorization_id : next?.fact.type
      assert.deepStrictEqual([next?.at, named], [first?.[0], first?.[2]])
      assert.strictEqual(nextDueOf({ ...stream, open: reserved }), first?.[0])
    })
  )
})
