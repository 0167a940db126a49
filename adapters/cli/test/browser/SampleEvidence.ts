/** Evidence to look at: a year of a reading club that buys books. */
import { displayLines } from "@svc/domain/approval/StatementDisplay"
import type { JsonObject } from "@svc/protocol/json/Json"
import {
  approvalOf,
  at,
  CREATED,
  DAY,
  HOUR,
  type Journal,
  type ProposalParts,
  recurringBody,
  SECOND,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"

const ORGANIZATION_NAME = "Riverside Books"

/** A mandate that was approved with the lines that the approval page shows, unless others are given. */
export const approvedJournal = (
  policy: JsonObject = {},
  parts: { readonly mandate?: JsonObject; readonly statement?: object } = {}
): Journal => {
  const terms = termsOf(recurringBody(policy, parts.mandate))
  const journal = tellJournal(terms)
  const display = displayLines(terms, ORGANIZATION_NAME, CREATED, "en")
  const statement = { organization_name: ORGANIZATION_NAME, display, ...parts.statement }
  journal.approve(CREATED + HOUR, approvalOf(terms, undefined, { parts: statement }))
  return journal
}

const FIRST_MONTH = at("2026-12-03T10:00:00Z")
const MONTH = 31n * DAY

/** When the evidence of {@link yearOfBooks} is generated. */
export const YEAR_LATER = at("2027-11-28T12:00:00Z")

/** What was bought in each month, in cents, and how it ended. */
const MONTHS: ReadonlyArray<
  readonly [amount: number, how: "commit" | "cancel" | "late" | "refund", parts?: ProposalParts]
> = [
  [4200, "commit"],
  [3100, "refund"],
  [2450, "commit"],
  [4990, "late"],
  [1200, "cancel"],
  [4800, "commit"],
  [900, "commit"],
  [4400, "commit"]
]

export const yearOfBooks = (): Journal => {
  const journal = approvedJournal(
    { allowed_merchants: ["Riverside Books", "Corner Music"], max_total_amount: 60_000 },
    {
      mandate: {
        description: "Books for the reading club",
        window: { starts_at: "2026-12-01T00:00:00Z", ends_at: "2027-12-01T00:00:00Z" }
      }
    }
  )
  let number = 0
  const propose = (now: bigint, parts: ProposalParts) =>
    journal.propose(++number, now, { merchant: "Riverside Books", ...parts })
  for (const [index, [amount, how]] of MONTHS.entries()) {
    const now = FIRST_MONTH + BigInt(index) * MONTH
    propose(now, { amount })
    if (how === "cancel") journal.cancel(number, now + SECOND)
    else
      journal.commit(number, now + (how === "late" ? HOUR : 2n * SECOND), {
        provider_transaction_reference: `txn_${7000 + number}`
      })
    if (how === "refund") journal.refund(number, amount, now + HOUR)
    propose(now + DAY, { amount: 6000 })
    propose(now + DAY + HOUR, { amount: 3900 })
    if (index % 2 === 0) journal.commit(number, now + DAY + HOUR + SECOND)
    if (index === 1) propose(now + 2n * DAY, { amount: 1500, merchant: null })
    if (index === 2) propose(now + 2n * DAY, { amount: 1500, merchant: "Corner Shop" })
  }
  propose(YEAR_LATER - 60n * SECOND, { amount: 2500 })
  return journal
}
