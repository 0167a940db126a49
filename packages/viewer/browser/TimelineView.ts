import type { ReplayedEvent } from "@svc/verifier"
import { disclosure, make, section } from "./Elements.ts"
import { pagedList } from "./PagedList.ts"
import { code, exact, instant, json, money, said } from "./ShownText.ts"
import type { Opened } from "./Verification.ts"
import { EVENT_WORDS, SOURCE_WORDS } from "./Words.ts"

type Event = ReplayedEvent["event"]

/** Entries of the timeline that are shown at once. */
const EVENTS_PER_PAGE = 100

export const sourceBadge = ({ source }: Event): HTMLElement =>
  make("span", { class: "badge", "data-source": source }, SOURCE_WORDS[source])

/** What an event says beyond its type, in a line. */
export const eventSays = (
  { authorization, event }: ReplayedEvent,
  currency: string
): ReadonlyArray<Node | string> => {
  switch (event.type) {
    case "mandate.created":
      return ["for ", said(event.data.subject_reference)]
    case "mandate.approved":
      return ["on ", exact(event.data.approval.origin)]
    case "mandate.revoked":
      return [said(event.data.reason)]
    case "mandate.expired":
      return [event.data.end_reason]
    case "authorization.reserved":
    case "authorization.denied":
    case "authorization.indeterminate": {
      const { external_reference, proposed_action, reasons } = event.data
      const { action, payment } = proposed_action
      return [
        `${money(payment.amount, payment.currency)} for `,
        exact(action),
        ", ",
        said(external_reference),
        ...reasons.flatMap(({ code: reason }) => [", ", code(reason)])
      ]
    }
    case "authorization.committed":
      return [
        "at ",
        instant(event.data.reported_accepted_at),
        ", ",
        said(event.data.provider_transaction_reference)
      ]
    case "authorization.cancelled":
      return [event.data.reason]
    case "authorization.outcome_conflict":
      return [
        `${event.data.reported}, although it is ${authorization?.state ?? "unknown"}`,
        event.data.late ? ": it counts as used" : ""
      ]
    case "authorization.refund_reported":
      return [`${money(event.data.amount, currency)}, `, said(event.data.provider_refund_reference)]
    default:
      return []
  }
}

const row =
  (currency: string) =>
  (replayed: ReplayedEvent): HTMLElement => {
    const { event, mandate_state } = replayed
    return make(
      "li",
      { "data-source": event.source },
      make(
        "p",
        { class: "what" },
        make("span", { class: "seq" }, String(event.seq)),
        make("strong", {}, EVENT_WORDS[event.type]),
        " ",
        sourceBadge(event)
      ),
      make("p", {}, ...eventSays(replayed, currency)),
      make(
        "p",
        { class: "soft" },
        instant(event.occurred_at),
        `, mandate ${mandate_state}`,
        ...("authorization_id" in event ? [", ", code(event.authorization_id)] : [])
      ),
      disclosure(`Event ${event.seq}, as it is recorded`, () => json(event))
    )
  }

/** Every event in its order, with who answers for it. */
export const timelineView = (opened: Opened, currency: string): HTMLElement =>
  section(
    "timeline",
    "Timeline",
    make(
      "p",
      {},
      "What is service-verified follows from the rules, and was made again here. What is caller-reported proves that the caller said so, and nothing more."
    ),
    pagedList(opened, {
      kind: "events",
      filters: { all: "All", ...SOURCE_WORDS },
      pageSize: EVENTS_PER_PAGE,
      noun: "Events",
      row: row(currency)
    })
  )
