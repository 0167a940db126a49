/** Journals of which one rule is broken, all that follows made to fit, and genuine ones for rules that random walks do not reach. */
import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import type { JsonObject } from "@svc/protocol/json/Json"
import {
  approvalOf,
  at,
  CREATED,
  commitmentFor,
  DAY,
  GENERATED,
  HOUR,
  identifierOf,
  makeDevice,
  recurringBody,
  SECOND,
  singleBody,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"
import type { CheckName } from "@svc/verifier"
import { genuinePayloads, mend } from "./Forger.ts"

// biome-ignore lint/suspicious/noExplicitAny: payloads are taken apart and put together as plain data
type Json = any

export interface BrokenRule {
  readonly about: string
  /** The check that must find it. */
  readonly found: CheckName
  readonly payload: Json
}

const [RECURRING, SINGLE, REVOKED, PENDING] = [0, 1, 2, 3]

const broken = (
  about: string,
  found: CheckName,
  of: number,
  edit: (payload: Json, events: ReadonlyArray<Json>) => void,
  mended: "chain" | "everything" = "everything"
): BrokenRule => {
  const draft = structuredClone(genuinePayloads[of])
  edit(draft, draft.events)
  return { about, found, payload: mend(draft, mended) }
}

/** Terms that nobody has approved yet, so that nothing else is wrong. */
const withTerms = (about: string, edit: (data: Json) => void, found: CheckName = "terms"): BrokenRule =>
  broken(`terms: ${about}`, found, PENDING, (_, [created]) => {
    // The stretch of a table follows from the window, which is edited.
    for (const table of created.data.time_zones) table.transitions = []
    edit(created.data)
    created.data.policy_digest = policyDigest(created.data.policy)
  })

const approvedWith = (
  about: string,
  found: CheckName,
  given: NonNullable<Parameters<typeof approvalOf>[2]>
): BrokenRule => {
  const terms = termsOf(singleBody(), identifierOf("mnd_", 5))
  const journal = tellJournal(terms)
  journal.approve(CREATED + HOUR, approvalOf(terms, undefined, given))
  return { about: `approval: ${about}`, found, payload: JSON.parse(journal.payload(CREATED + 2n * HOUR)) }
}

const first = (events: ReadonlyArray<Json>, type: string): Json => events.find((event) => event.type === type)

const later = (text: string, seconds: number): string => {
  const moved = new Date(Date.parse(text) + seconds * 1000).toISOString().replace("Z", "000000Z")
  return moved
}

export const brokenRules = (): ReadonlyArray<BrokenRule> => [
  withTerms("min_amount above max_amount", ({ policy }) => {
    policy.min_amount = policy.max_amount + 1
  }),
  withTerms("the window ends before it starts", ({ window }) => {
    window.ends_at = "2026-11-30T12:00:00Z"
  }),
  withTerms("the window starts more than 24 hours before the creation", ({ window }) => {
    window.starts_at = "2026-11-26T00:00:00Z"
  }),
  withTerms("the window is longer than ten years", ({ window }) => {
    window.ends_at = "2037-01-01T00:00:00Z"
  }),
  withTerms("the deadline is after the window", (data) => {
    data.approval_deadline = "2027-03-02T00:00:00Z"
  }),
  withTerms("the deadline is before the creation", (data) => {
    data.approval_deadline = "2026-11-27T00:00:00Z"
  }),
  withTerms("a time with zeros at its end", ({ window }) => {
    window.ends_at = "2027-03-01T00:00:00.000000000Z"
  }),
  withTerms("a window that ends before it starts, in a currency that nobody knows", ({ policy, window }) => {
    policy.currency = "ZZZ"
    window.ends_at = "2026-11-30T12:00:00Z"
  }),
  withTerms("a start that is neither given nor the creation, in a currency that nobody knows", (data) => {
    data.policy.currency = "ZZZ"
    data.window.starts_at = "2026-12-01T00:00:00.000000000Z"
  }),
  withTerms("a default is left out", ({ policy }) => delete policy.min_amount, "event_form"),
  withTerms("a period without caps", ({ policy: { periods } }) => {
    delete periods[0].max_amount
    delete periods[0].max_executions
  }),
  withTerms("periods of a SINGLE mandate", (data) => {
    data.kind = "SINGLE"
  }),
  withTerms("an interval of a CALENDAR period", ({ policy: { periods } }) => {
    periods[0].interval = 2
  }),
  withTerms("a table is missing", (data) => data.time_zones.pop(), "zone_tables"),
  withTerms(
    "a transition that changes nothing",
    ({ time_zones: [table] }) => {
      table.transitions.unshift({ at: "2026-11-28T00:00:00Z", offset_seconds: table.offset_seconds })
    },
    "zone_tables"
  ),
  withTerms(
    "a transition outside of the stretch of the table",
    ({ time_zones: [table] }) => {
      table.transitions.push({ at: "2031-01-01T00:00:00Z", offset_seconds: 0 })
    },
    "zone_tables"
  ),
  approvedWith("the user was not verified", "approval_passkey", { misbehaviour: { flags: 0x19 } }),
  approvedWith("the user was not present", "approval_passkey", { misbehaviour: { flags: 0x1c } }),
  approvedWith("another origin", "approval_passkey", { misbehaviour: { origin: "https://evil.example" } }),
  approvedWith("another relying party", "approval_passkey", { misbehaviour: { rpId: "evil.example" } }),
  approvedWith("in a frame", "approval_passkey", { misbehaviour: { crossOrigin: true } }),
  approvedWith("below another top origin", "approval_passkey", {
    misbehaviour: { topOrigin: "https://evil.example" }
  }),
  approvedWith("an enrolment's client data", "approval_passkey", {
    misbehaviour: { type: "webauthn.create" }
  }),
  approvedWith("another challenge", "approval_statement", { misbehaviour: { challenge: "AAAA" } }),
  approvedWith("another amount in the statement", "approval_statement", {
    parts: { policy: { ...termsOf(singleBody()).policy, max_amount: 1 } }
  }),
  broken("a commitment twice", "commitments", RECURRING, (_, events) => {
    const reserved = events.filter(({ type }) => type === "authorization.reserved")
    reserved.at(-1).data.commitment = reserved[0].data.commitment
  }),
  broken("an opening of another commitment", "commitments", SINGLE, (_, events) => {
    first(events, "authorization.committed").data.commitment_opening = "A".repeat(43)
  }),
  broken("a refund above the amount", "transitions", RECURRING, (_, events) => {
    first(events, "authorization.refund_reported").data.amount = 4201
  }),
  broken("a refund in another currency", "transitions", RECURRING, (_, events) => {
    first(events, "authorization.refund_reported").data.currency = "USD"
  }),
  broken("a report of what is 301 s ahead", "transitions", SINGLE, (_, events) => {
    const committed = first(events, "authorization.committed")
    committed.data.reported_accepted_at = later(committed.occurred_at, 301).replace(/\.?0+Z$/u, "Z")
  }),
  broken("a conflict that is none", "transitions", RECURRING, (_, events) => {
    const conflict = first(events, "authorization.outcome_conflict")
    conflict.authorization_id = first(events, "authorization.committed").authorization_id
    conflict.data.content = first(events, "authorization.committed").data
    conflict.data.late = false
  }),
  broken("late usage that is not said to be late", "transitions", RECURRING, (_, events) => {
    first(events, "authorization.outcome_conflict").data.late = false
  }),
  broken("consumption left out", "transitions", SINGLE, (payload) => {
    payload.events = payload.events.filter(({ type }: Json) => type !== "mandate.consumed")
  }),
  broken("consumption without a commit", "due_transitions", REVOKED, (payload, events) => {
    payload.events = events.slice(0, -1)
    payload.events.push({
      ...structuredClone(events.at(-1)),
      type: "mandate.consumed",
      source: "SERVICE_VERIFIED",
      data: { authorization_id: first(events, "authorization.reserved").authorization_id }
    })
  }),
  broken("the activation left out", "due_transitions", SINGLE, (payload) => {
    payload.events = payload.events.filter(({ type }: Json) => type !== "mandate.activated")
  }),
  broken("an expiry of what was not due", "due_transitions", REVOKED, (payload, events) => {
    payload.events.splice(events.length - 1, 0, {
      ...structuredClone(first(events, "authorization.reserved")),
      id: identifierOf("evt_", 900),
      type: "authorization.expired",
      data: {}
    })
  }),
  broken("expires_at is another than the grace leads to", "deadlines", SINGLE, (_, events) => {
    const { data } = events.find((event) => event.data.report_grace_seconds === 120)
    data.expires_at = data.execute_before
  }),
  broken("a reason has another pointer", "decisions", RECURRING, (_, events) => {
    first(events, "authorization.denied").data.reasons[0].pointer = "/proposed_action/attributes"
  }),
  broken("a reason is left out", "decisions", REVOKED, (_, events) => {
    first(events, "authorization.denied").data.reasons = []
  }),
  broken(
    "usage says less than there was",
    "decision_inputs",
    RECURRING,
    (_, events) => {
      events.findLast(({ data }) => data.usage !== undefined).data.usage.committed_amount = 0
    },
    "chain"
  ),
  broken(
    "the mandate says less than the events",
    "mandate",
    REVOKED,
    (payload) => {
      delete payload.mandate.revocation
    },
    "chain"
  ),
  broken(
    "another organization beside the events",
    "tenant",
    PENDING,
    (payload) => {
      payload.organization_id = "org_01jdxxxxxxxxxxxxxxxxxxxxxy"
    },
    "chain"
  )
]

export interface Life {
  readonly about: string
  readonly payload: string
}

const propose = (
  journal: ReturnType<typeof tellJournal>,
  number: number,
  now: bigint,
  {
    attributes,
    ...parts
  }: { readonly amount?: number; readonly action?: string; readonly attributes?: JsonObject }
) =>
  journal.tell(
    {
      _tag: "Propose",
      authorizationId: identifierOf("aut_", number),
      reportGraceSeconds: 0,
      body: {
        external_reference: `order ${number}`,
        execution_window_seconds: 900,
        commitment: commitmentFor(number),
        proposed_action: {
          action: parts.action ?? "card.create",
          payment: { amount: parts.amount ?? 1000, currency: "EUR" },
          ...(attributes === undefined ? {} : { attributes })
        }
      } as never
    },
    now
  )

/** Genuine journals of what random walks do not reach. */
export const rareLives = (): ReadonlyArray<Life> => {
  const make = (
    about: string,
    body: JsonObject,
    live: (journal: ReturnType<typeof tellJournal>) => bigint,
    approval: (terms: ReturnType<typeof termsOf>) => ReturnType<typeof approvalOf> = approvalOf
  ): Life => {
    const terms = termsOf(body, identifierOf("mnd_", about.length + 100))
    const journal = tellJournal(terms)
    journal.approve(CREATED + HOUR, approval(terms))
    return { about, payload: journal.payload(live(journal)) }
  }
  const start = at("2026-12-02T00:00:00Z")
  return [
    make(
      "a passkey with EdDSA",
      singleBody(),
      () => start,
      (terms) => approvalOf(terms, makeDevice(8, -8))
    ),
    make(
      "each rule of the policy fails at once",
      recurringBody({
        min_amount: 500,
        max_executions: 1,
        max_total_amount: 1000,
        attribute_rules: [
          { name: "a/b~c", in: ["x"] },
          { name: "team", in: ["red", "blue"] }
        ],
        periods: [{ unit: "DAY", time_zone: "UTC", max_executions: 1, max_amount: 1000 }]
      }),
      (journal) => {
        const attributes = { merchant: "mrc_42", "a/b~c": "x", team: "red" }
        propose(journal, 1, start - DAY * 2n, { attributes })
        propose(journal, 2, start, { attributes })
        journal.commit(2, start + SECOND)
        propose(journal, 3, start + HOUR, {
          amount: 5001,
          action: "other",
          attributes: { merchant: "mrc_1", "a/b~c": "y" }
        })
        propose(journal, 4, start + 2n * HOUR, { amount: 499, attributes: { merchant: "mrc_42" } })
        return start + 3n * HOUR
      }
    ),
    make(
      "a deadline that is the end of the window, and its expiry",
      recurringBody(
        {},
        {
          window: { starts_at: "2026-12-01T00:00:00Z", ends_at: "2026-12-02T00:05:00.5Z" }
        }
      ),
      (journal) => {
        propose(journal, 1, start, { attributes: { merchant: "mrc_42" } })
        propose(journal, 2, start + HOUR, { attributes: { merchant: "mrc_42" } })
        return start + DAY
      }
    ),
    make(
      "periods of months from a 31st, the first prorated",
      recurringBody(
        {
          periods: [
            { unit: "MONTH", alignment: "MANDATE", time_zone: "Asia/Tokyo", max_amount: 9000 },
            { unit: "YEAR", time_zone: "UTC", max_executions: 12, first_period: "PRORATED" }
          ]
        },
        { window: { starts_at: "2026-12-31T03:00:00Z", ends_at: "2027-06-01T00:00:00Z" } }
      ),
      (journal) => {
        const late = at("2027-02-28T14:59:59Z")
        for (const number of [1, 2]) {
          propose(journal, number, late + BigInt(number) * SECOND, {
            amount: 5000,
            attributes: { merchant: "mrc_42" }
          })
        }
        return late + HOUR
      }
    ),
    make("used up by its total", recurringBody({ max_total_amount: 2000 }), (journal) => {
      for (const number of [1, 2]) {
        propose(journal, number, start + BigInt(2 * number) * SECOND, { attributes: { merchant: "mrc_42" } })
        journal.commit(number, start + BigInt(2 * number + 1) * SECOND)
      }
      propose(journal, 3, start + HOUR, { attributes: { merchant: "mrc_42" } })
      return start + DAY
    }),
    make("late usage leaves a single mandate unresolved", singleBody(), (journal) => {
      propose(journal, 1, start, {})
      journal.commit(1, start + HOUR)
      propose(journal, 2, start + 2n * HOUR, {})
      return GENERATED
    })
  ]
}
