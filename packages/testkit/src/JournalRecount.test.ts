import { assert, describe, it } from "@effect/vitest"
import { sourceOf } from "@svc/protocol/EventSource"
import { sealEventText } from "@svc/protocol/evidence/EventHash"
import type { JsonObject } from "@svc/protocol/json/Json"
import { collectChecks } from "./AuditLog.ts"
import { type Recorded, recountJournals } from "./JournalRecount.ts"

/** An event without its place in the stream. */
type Fact = Readonly<Record<string, Recorded>>
type Facts = ReadonlyArray<Fact>

const MANDATE = "mnd_1"

/** A date and an hour, with or without minutes, as the service writes an instant. */
const instant = (text: string): string => `${text}${":00:00".slice(text.length - 13)}.000000000Z`

let identifiers = 0

const mandateFact = (at: string, type: string, version: number, data: JsonObject = {}): Fact => ({
  id: `evt_${++identifiers}`,
  type: `mandate.${type}`,
  occurred_at: instant(at),
  mandate_version: version,
  data
})

const fact = (at: string, type: string, id: string, version: number, data: JsonObject = {}): Fact => ({
  ...mandateFact(at, type, version, data),
  type: `authorization.${type}`,
  authorization_id: id
})

/** Counters as amount and executions. */
interface Shown {
  readonly committed?: readonly [number, number]
  readonly reserved?: readonly [number, number]
  readonly late?: readonly [number, number]
}

const counters = ({ committed = [0, 0], late = [0, 0], reserved = [0, 0] }: Shown): JsonObject => ({
  committed_amount: committed[0],
  committed_executions: committed[1],
  reserved_amount: reserved[0],
  reserved_executions: reserved[1],
  late_amount: late[0],
  late_executions: late[1]
})

const proposal = (amount: number, id: string, usage: JsonObject): JsonObject => ({
  proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } },
  commitment: `commitment of ${id}`,
  execution_window_seconds: 3600,
  usage
})

const allow = (amount: number, id: string, usage: JsonObject, executeBefore: string, expiresAt: string) => ({
  ...proposal(amount, id, usage),
  decision: "ALLOW",
  reasons: [],
  execute_before: instant(executeBefore),
  expires_at: instant(expiresAt),
  report_grace_seconds: 60
})

/** In Berlin the clock is set back on 25 October 2026: that week has 169 hours, of which 95 are left from the start. */
const WEEK = {
  period: 0,
  starts_at: instant("2026-10-18T22"),
  ends_at: instant("2026-10-25T23"),
  max_amount: 950
}
const NEXT_WEEK = { ...WEEK, starts_at: WEEK.ends_at, ends_at: instant("2026-11-01T23"), max_amount: 1690 }
const MONTH = {
  period: 1,
  starts_at: instant("2026-10-21T22"),
  ends_at: instant("2026-11-21T23"),
  max_executions: 3
}

const usage = (whole: Shown, week: JsonObject, inWeek: Shown, inMonth: Shown): JsonObject => ({
  ...counters(whole),
  periods: [
    { ...week, ...counters(inWeek) },
    { ...MONTH, ...counters(inMonth) }
  ]
})

const BERLIN = {
  name: "Europe/Berlin",
  tzdb_version: "2026c",
  offset_seconds: 7200,
  transitions: [{ at: "2026-10-25T01:00:00Z", offset_seconds: 3600 }]
}
const PERIOD = { interval: 1, time_zone: "Europe/Berlin" }

const terms = (kind: string, policy: JsonObject, starts_at: string): JsonObject => ({
  mandate_id: MANDATE,
  organization_id: "org_1",
  kind,
  policy: { currency: "EUR", min_amount: 10, max_amount: 1100, allowed_actions: ["card.create"], ...policy },
  window: { starts_at, ends_at: "2026-12-01T00:00:00Z" },
  approval_deadline: "2026-10-21T00:00:00Z",
  time_zones: [BERLIN]
})

/** A RECURRING mandate that meets everything that a journal tells but its own end by use. */
const recurring = (): Facts => {
  const policy = {
    max_total_amount: 2000,
    periods: [
      { ...PERIOD, unit: "WEEK", alignment: "CALENDAR", first_period: "PRORATED", max_amount: 1690 },
      { ...PERIOD, unit: "MONTH", alignment: "MANDATE", first_period: "FULL", max_executions: 3 }
    ]
  }
  const one: Shown = { committed: [500, 1] }
  const late: Shown = { ...one, late: [450, 1] }
  const denied = {
    ...proposal(2000, "d", usage(late, NEXT_WEEK, {}, late)),
    decision: "DENY",
    reasons: [{ code: "AMOUNT_ABOVE_MAXIMUM" }]
  }
  const conflict = { reported: "COMMITTED", content: {}, late: true }
  return [
    mandateFact("2026-10-20T00", "created", 1, terms("RECURRING", policy, "2026-10-22T00:00:00Z")),
    mandateFact("2026-10-20T01", "approved", 2),
    mandateFact("2026-10-22T00", "activated", 3),
    fact(
      "2026-10-22T10",
      "reserved",
      "a",
      3,
      allow(500, "a", usage({}, WEEK, {}, {}), "2026-10-22T11", "2026-10-22T11:01")
    ),
    fact("2026-10-22T10:30", "committed", "a", 3),
    fact(
      "2026-10-25T22:30",
      "reserved",
      "b",
      3,
      allow(450, "b", usage(one, WEEK, one, one), "2026-10-25T23:30", "2026-10-25T23:31")
    ),
    fact("2026-10-25T23:31", "expired", "b", 3),
    fact("2026-10-26T00", "outcome_conflict", "b", 3, conflict),
    fact("2026-10-26T01", "refund_reported", "a", 3, { amount: 200 }),
    fact("2026-10-26T02", "refund_reported", "a", 3, { amount: 300 }),
    fact(
      "2026-10-26T08",
      "reserved",
      "c",
      3,
      allow(1050, "c", usage(late, NEXT_WEEK, {}, late), "2026-10-26T09", "2026-10-26T09:01")
    ),
    fact("2026-10-26T08:30", "cancelled", "c", 3),
    fact("2026-10-26T09", "denied", "d", 3, denied),
    mandateFact("2026-10-26T10", "revoked", 4, { reason: "no longer wanted" })
  ]
}

/** A SINGLE mandate that is used up. */
const single = (): Facts => {
  const unused = { ...counters({}), periods: [] }
  return [
    mandateFact("2026-10-20T00", "created", 1, terms("SINGLE", {}, "2026-10-20T00:00:00Z")),
    mandateFact("2026-10-20T01", "approved", 2),
    fact("2026-10-20T02", "reserved", "a", 2, allow(1100, "a", unused, "2026-10-20T03", "2026-10-20T03:01")),
    fact("2026-10-20T02:30", "committed", "a", 2),
    mandateFact("2026-10-20T02:30", "consumed", 3, { authorization_id: "a" })
  ]
}

/** Chains facts as somebody would who edits a journal and mends it. */
const chained = (facts: Facts): ReadonlyArray<string> => {
  let previous: string | undefined
  return facts.map((one, at) => {
    const { hash, text } = sealEventText({
      source: sourceOf(one.type),
      ...one,
      seq: at + 1,
      ...(previous === undefined ? {} : { previous_hash: previous })
    })
    previous = hash
    return text
  })
}

const audited = (texts: ReadonlyArray<string>) => {
  const log = collectChecks()
  const { append } = recountJournals(log)
  for (const text of texts) append(MANDATE, text)
  return log
}

/** Demands a fault that begins so; the pattern has no anchor of its own. */
const assertFinds = (found: string, texts: ReadonlyArray<string>): void =>
  assert.match(audited(texts).faults.join("\n"), new RegExp(`^${found}`, "mu"))

const changed = (at: number, parts: Fact) => (facts: Facts) =>
  facts.map((one, index) => (index === at ? { ...one, ...parts } : one))

const withData = (at: number, parts: JsonObject) => (facts: Facts) =>
  changed(at, { data: { ...facts[at]?.data, ...parts } })(facts)

const withAmount = (at: number, amount: number, currency = "EUR") =>
  withData(at, { proposed_action: { action: "card.create", payment: { amount, currency } } })

const without =
  (...gone: ReadonlyArray<number>) =>
  (facts: Facts) =>
    facts.filter((_, index) => !gone.includes(index))

/** Tells a fact once more behind another, with an identifier of its own. */
const again =
  (from: number, behind: number, parts: Fact = {}) =>
  (facts: Facts) =>
    facts.toSpliced(behind + 1, 0, { ...facts[from], id: `evt_${++identifiers}`, ...parts })

const moved = (from: number, to: number) => (facts: Facts) =>
  facts.toSpliced(from, 1).toSpliced(to, 0, facts[from] ?? {})

type Forgery = readonly [title: string, found: string, forge: (facts: Facts) => Facts]

const BUDGETS = "budgets kept, late use counted, at each ALLOW"
const TOTAL = `${BUDGETS}: .* over the total`
const FIRST_PERIOD = `${BUDGETS}: .* period 0:`
const SECOND_PERIOD = `${BUDGETS}: .* period 1:`
const DUE = "what is due comes first"

/** Each on the RECURRING mandate, whose events count from 0. */
const RECURRING: ReadonlyArray<Forgery> = [
  ["a journal without its creation", "journals begin with the creation", without(0)],
  [
    "an event with another's identifier",
    "one event per identifier",
    (facts) => changed(4, { id: facts[3]?.id })(facts)
  ],
  ["time that turns back", "order of time", changed(4, { occurred_at: instant("2026-10-22T09") })],
  [
    "an instant of milliseconds",
    "instants with nine digits",
    changed(4, { occurred_at: "2026-10-22T10:30:00.000Z" })
  ],
  ["a caller's fact as the service's", "sources of events", changed(4, { source: "SERVICE_VERIFIED" })],
  ["a version that did not change", "versions", changed(2, { mandate_version: 2 })],
  ["an event of unknown type", "events of known types", changed(8, { type: "authorization.renamed" })],
  [
    "an approval after the end",
    "moves between states",
    again(1, 13, { mandate_version: 5, occurred_at: instant("2026-10-27T00") })
  ],
  ["a revocation of what has ended", "moves between states", again(13, 13, { mandate_version: 5 })],
  ["an approval at the deadline", DUE, changed(1, { occurred_at: instant("2026-10-21T00") })],
  ["an activation after the start", DUE, changed(2, { occurred_at: instant("2026-10-22T01") })],
  ["an ALLOW of a mandate that has not started", "ALLOW of active mandates only", moved(2, 4)],
  [
    "an ALLOW before the window",
    "ALLOW within the window",
    changed(3, { occurred_at: instant("2026-10-21T23:59") })
  ],
  ["an amount above the policy's", "ALLOW within the policy's bounds", withAmount(10, 1101)],
  ["an amount below the policy's", "ALLOW within the policy's bounds", withAmount(10, 9)],
  ["another currency", "ALLOW within the policy's bounds", withAmount(10, 1050, "USD")],
  [
    "a deadline beyond what was asked for",
    "deadlines of an ALLOW",
    withData(3, { execute_before: instant("2026-10-22T12") })
  ],
  [
    "an expiry without the grace",
    "deadlines of an ALLOW",
    withData(3, { expires_at: instant("2026-10-22T11") })
  ],
  ["a DENY recorded as a reservation", "decisions under their type", withData(3, { decision: "DENY" })],
  [
    "an ALLOW with reasons",
    "reasons of all but ALLOW",
    withData(3, { reasons: [{ code: "MANDATE_EXPIRED" }] })
  ],
  ["a DENY without reasons", "reasons of all but ALLOW", withData(12, { reasons: [] })],
  [
    "use that nobody made",
    "usage as decided on",
    withData(5, {
      usage: usage({ committed: [501, 1] }, WEEK, { committed: [500, 1] }, { committed: [500, 1] })
    })
  ],
  [
    "late use in a week that has ended",
    "usage as decided on",
    withData(10, {
      usage: usage(
        { committed: [500, 1], late: [450, 1] },
        NEXT_WEEK,
        { late: [450, 1] },
        { committed: [500, 1], late: [450, 1] }
      )
    })
  ],
  [
    "a week that ends by summer time",
    "usage as decided on",
    withData(3, { usage: usage({}, { ...WEEK, ends_at: instant("2026-10-25T22") }, {}, {}) })
  ],
  [
    "a first week with its whole cap",
    "usage as decided on",
    withData(3, { usage: usage({}, { ...WEEK, max_amount: 1690 }, {}, {}) })
  ],
  [
    "more than is left of the first week, in the hour that the clock was set back",
    FIRST_PERIOD,
    withAmount(5, 451)
  ],
  [
    "a week's cap used twice in the next week",
    FIRST_PERIOD,
    (facts) => again(10, 10, { authorization_id: "e" })(withAmount(10, 900)(facts))
  ],
  ["more than the total with late use", TOTAL, withAmount(10, 1051)],
  [
    "more executions than the month has",
    SECOND_PERIOD,
    (facts) => again(10, 10, { authorization_id: "e" })(withAmount(10, 10)(facts))
  ],
  ["reservations beyond the cap", "budgets kept at each event", withAmount(5, 1100)],
  ["an authorization decided twice", "one decision per authorization", again(3, 3)],
  [
    "two authorizations with one commitment",
    "one authorization per commitment",
    (facts) => withData(5, { commitment: facts[3]?.data.commitment })(facts)
  ],
  ["an outcome of nothing", "outcomes of known authorizations", changed(4, { authorization_id: "x" })],
  [
    "a commit after a cancellation",
    "one terminal event per authorization",
    again(4, 11, { authorization_id: "c", occurred_at: instant("2026-10-26T08:40") })
  ],
  ["an outcome told twice", "one terminal event per authorization", again(4, 4)],
  ["a commit at the expiry", DUE, changed(4, { occurred_at: instant("2026-10-22T11:01") })],
  ["an expiry before its time", DUE, changed(6, { occurred_at: instant("2026-10-25T23:30") })],
  ["an expiry that was left out", DUE, without(6)],
  ["late use that was not counted", "late use counted once", withData(7, { late: false })],
  ["late use counted twice", "late use counted once", again(7, 7)],
  ["a cancellation counted as late use", "late use counted once", withData(7, { reported: "CANCELLED" })],
  [
    "a conflict with what was never allowed",
    "conflicts with an outcome",
    again(7, 12, { authorization_id: "d", occurred_at: instant("2026-10-26T09") })
  ],
  ["a refund above what was committed", "refunds within the committed amount", withData(9, { amount: 301 })],
  [
    "a refund of what was not committed",
    "refunds within the committed amount",
    changed(9, { authorization_id: "b" })
  ]
]

const SINGLE: ReadonlyArray<Forgery> = [
  ["an ALLOW over the cap of a SINGLE mandate", TOTAL, withAmount(2, 1101)],
  [
    "a second ALLOW of a SINGLE mandate",
    TOTAL,
    (facts) => again(2, 2, { authorization_id: "b" })(withAmount(2, 10)(facts))
  ],
  ["a mandate consumed without a commit", DUE, without(2, 3)],
  [
    "a mandate used up that goes on",
    DUE,
    (facts) =>
      again(2, 3, { authorization_id: "b", occurred_at: instant("2026-10-20T02:40") })(without(4)(facts))
  ],
  [
    "an end before those whose turn it is",
    DUE,
    (facts) =>
      changed(3, { type: "authorization.expired", occurred_at: instant("2026-10-20T03:02") })(
        without(4)(facts)
      )
  ]
]

/** Each on the texts of the RECURRING mandate's events. */
const TEXTS: ReadonlyArray<
  readonly [title: string, found: string, forge: (texts: ReadonlyArray<string>) => ReadonlyArray<string>]
> = [
  ["an event that is gone", "streams without gaps", (texts) => texts.toSpliced(3, 1)],
  [
    "two events in each other's place",
    "links of the chain",
    (texts) => texts.with(3, texts[4] ?? "").with(4, texts[3] ?? "")
  ],
  ["a text that was written otherwise", "canonical texts", (texts) => texts.with(4, ` ${texts[4]}`)],
  [
    "an amount that was rewritten",
    "event hashes",
    (texts) => texts.with(8, (texts[8] ?? "").replace("200", "199"))
  ]
]

describe("the recount of journals", () => {
  it("finds nothing wrong with what is right", () => {
    assert.deepStrictEqual(audited(chained(recurring())).faults, [])
    assert.deepStrictEqual(audited(chained(single())).faults, [])
  })

  it.each(RECURRING)("finds %s", (_, found, forge) => {
    assertFinds(found, chained(forge(recurring())))
  })

  it.each(SINGLE)("finds %s", (_, found, forge) => {
    assertFinds(found, chained(forge(single())))
  })

  it.each(TEXTS)("finds %s", (_, found, forge) => {
    assertFinds(found, forge(chained(recurring())))
  })

  it("counts late use in the periods that go on, not in one that has ended (part 5)", () => {
    const { append, mandates } = recountJournals(collectChecks())
    for (const text of chained(recurring())) append(MANDATE, text)
    const periods = [...(mandates.get(MANDATE)?.budget.periods.values() ?? [])]
    const late = periods.map(({ period, use }) => [period.shown.starts_at, use.late])
    assert.deepStrictEqual(late, [
      [WEEK.starts_at, { amount: 0n, executions: 0 }],
      [MONTH.starts_at, { amount: 450n, executions: 1 }],
      [NEXT_WEEK.starts_at, { amount: 0n, executions: 0 }]
    ])
  })

  it("has a fault planted for each of its checks", () => {
    const made = audited(chained(recurring())).counts.keys()
    const planted = [...RECURRING, ...TEXTS].map(([, found]) => found)
    for (const name of made)
      assert.isTrue(
        planted.some((found) => found.startsWith(name)),
        name
      )
  })

  it("finds authorizations that expire out of their order", () => {
    const unused = { ...counters({}), periods: [] }
    const reserved = (id: string) =>
      fact("2026-10-20T02", "reserved", id, 2, allow(10, id, unused, "2026-10-20T03", "2026-10-20T03:01"))
    const expired = (id: string) => fact("2026-10-20T03:01", "expired", id, 2)
    const facts = single().slice(0, 2)
    const right = chained([...facts, reserved("a"), reserved("b"), expired("a"), expired("b")])
    assert.notInclude(audited(right).faults.join(), DUE)
    const wrong = chained([...facts, reserved("a"), reserved("b"), expired("b"), expired("a")])
    assertFinds(DUE, wrong)
  })
})
