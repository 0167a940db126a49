import type { ReplayedEvent } from "@svc/verifier"
import { make, section, term } from "./Elements.ts"
import type { DecisionRow } from "./EvidenceLists.ts"
import { pagedList } from "./PagedList.ts"
import { code, counted, exact, instant, money, said } from "./ShownText.ts"
import { eventSays, sourceBadge } from "./TimelineView.ts"
import type { Opened } from "./Verification.ts"
import { EVENT_WORDS } from "./Words.ts"

/** Decisions that are shown at once. */
const DECISIONS_PER_PAGE = 50

type DecisionEvent = Extract<ReplayedEvent["event"], { readonly data: { readonly decision: string } }>
type DecisionData = DecisionEvent["data"]
type Counted = DecisionData["usage"]
type Reason = DecisionData["reasons"][number]

const isDecision = (event: ReplayedEvent["event"]): event is DecisionEvent => "decision" in event.data

const usedBefore = (
  used: Omit<Counted, "periods"> & { readonly max_amount?: number; readonly max_executions?: number },
  currency: string
): string => {
  const of = (cap: string | undefined) => (cap === undefined ? "" : ` of at most ${cap}`)
  const parts = (["committed", "late", "reserved"] as const)
    .filter((name) => name === "committed" || used[`${name}_executions`] > 0)
    .map((name) => `${money(used[`${name}_amount`], currency)} ${name}`)
  const executions = used.committed_executions + used.late_executions + used.reserved_executions
  const amountCap = used.max_amount === undefined ? undefined : money(used.max_amount, currency)
  const countCap = used.max_executions === undefined ? undefined : String(used.max_executions)
  return `${parts.join(", ")}${of(amountCap)}; ${counted(executions, "execution")}${of(countCap)}`
}

/** The numbers that a rule compared, and where it is. */
const comparison = (reason: Reason, currency: string): ReadonlyArray<Node | string> => {
  const { code: name, conflicting_authorizations = [], pointer, resets_at, resolve_with = [] } = reason
  const shown = (value: number) => (name.includes("AMOUNT") ? money(value, currency) : String(value))
  const numbers = (["limit", "requested", "used", "reserved"] as const).flatMap((member) => {
    const value = reason[member]
    return value === undefined ? [] : [[`${member} ${shown(value)}`]]
  })
  const parts: ReadonlyArray<ReadonlyArray<Node | string>> = [
    ...numbers,
    ...(pointer === "" ? [] : [["at ", code(pointer)]]),
    ...(resets_at === undefined ? [] : [["resets ", instant(resets_at)]]),
    ...resolve_with.map((missing) => ["to be resolved with ", code(missing)]),
    ...conflicting_authorizations.map((id) => ["late ", code(id)])
  ]
  return parts
    .flatMap((part, index) => [index === 0 ? " (" : ", ", ...part])
    .concat(parts.length === 0 ? [] : [")"])
}

const reasonItem = (reason: Reason, currency: string): HTMLElement =>
  make(
    "li",
    {},
    make(
      "p",
      {},
      make("strong", {}, code(reason.code)),
      ": ",
      said(reason.detail),
      make("span", { class: "soft" }, ...comparison(reason, currency))
    )
  )

const proposal = ({ data }: DecisionEvent): ReadonlyArray<HTMLElement> => {
  const { action, attributes = {}, payment } = data.proposed_action
  return [
    term("Action", exact(action)),
    term("Amount", money(payment.amount, payment.currency)),
    ...Object.entries(attributes).map(([name, value]) =>
      make("div", {}, make("dt", {}, exact(name)), make("dd", {}, exact(value)))
    ),
    term("Reference", said(data.external_reference)),
    term("Commitment", code(data.commitment))
  ]
}

const inputs = ({ data }: DecisionEvent, currency: string): ReadonlyArray<HTMLElement> => [
  term("Used before, in all", usedBefore(data.usage, currency)),
  ...data.usage.periods.map((period) =>
    term(`Used before, period ${period.period + 1}`, usedBefore(period, currency))
  ),
  term("Execution window", `${data.execution_window_seconds} s`),
  ...(data.execute_before === undefined ? [] : [term("To be executed before", instant(data.execute_before))]),
  ...(data.expires_at === undefined ? [] : [term("To be reported before", instant(data.expires_at))])
]

const laterItem = (replayed: ReplayedEvent, currency: string): HTMLElement => {
  const { event } = replayed
  return make(
    "li",
    { "data-source": event.source },
    make(
      "p",
      {},
      sourceBadge(event),
      ` event ${event.seq}, `,
      instant(event.occurred_at),
      ": ",
      make("strong", {}, EVENT_WORDS[event.type]),
      " ",
      ...eventSays(replayed, currency)
    )
  )
}

const reasons = ({ data }: DecisionEvent, currency: string): HTMLElement =>
  data.reasons.length === 0
    ? make("p", {}, "Every rule held: there was no reason against it.")
    : make("ul", {}, ...data.reasons.map((reason) => reasonItem(reason, currency)))

const outcome = (later: ReadonlyArray<ReplayedEvent>, currency: string): ReadonlyArray<Node> =>
  later.length === 0
    ? []
    : [
        make("h4", {}, "What became of it"),
        make("ul", { class: "later" }, ...later.map((one) => laterItem(one, currency)))
      ]

const card =
  (currency: string) =>
  ({ decision, later }: DecisionRow): HTMLElement => {
    const { event } = decision
    if (!isDecision(event)) return make("li")
    const { payment } = event.data.proposed_action
    return make(
      "li",
      { "data-decision": event.data.decision },
      make(
        "h3",
        {},
        make("span", { class: "badge", "data-decision": event.data.decision }, event.data.decision),
        ` ${money(payment.amount, payment.currency)} `,
        make("span", { class: "soft" }, `event ${event.seq}, `, instant(event.occurred_at))
      ),
      make("p", { class: "soft" }, code(event.authorization_id)),
      make(
        "div",
        { class: "columns" },
        make("div", {}, make("h4", {}, "What was proposed"), make("dl", {}, ...proposal(event))),
        make("div", {}, make("h4", {}, "What it was decided on"), make("dl", {}, ...inputs(event, currency)))
      ),
      make("h4", {}, "Reasons"),
      reasons(event, currency),
      ...outcome(later, currency)
    )
  }

/** Each decision with what was proposed, what it was decided on, its reasons and what became of it. */
export const decisionView = (opened: Opened, currency: string): HTMLElement =>
  section(
    "decisions",
    "Decisions",
    make(
      "p",
      {},
      "Each was made again here, with the same outcome and reason codes. The words of a reason are the service's."
    ),
    pagedList(opened, {
      kind: "decisions",
      filters: { all: "All", ALLOW: "Allowed", DENY: "Denied", INDETERMINATE: "Not decided" },
      pageSize: DECISIONS_PER_PAGE,
      noun: "Decisions",
      row: card(currency)
    })
  )
