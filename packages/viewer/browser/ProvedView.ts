import type { Proved, ProvedApproval } from "@svc/verifier"
import { disclosure, make, section, term } from "./Elements.ts"
import { code, counted, exact, instant, json, money, said, signedLine } from "./ShownText.ts"
import { OUTCOME_WORDS } from "./Words.ts"

const SECONDS_PER_HOUR = 3600
const SECONDS_PER_DAY = 86_400
const HOURS_UP_TO_SECONDS = 2 * SECONDS_PER_DAY

const ageOf = (seconds: number): string => {
  const [unit, size] =
    Math.abs(seconds) < SECONDS_PER_HOUR
      ? (["second", 1] as const)
      : Math.abs(seconds) < HOURS_UP_TO_SECONDS
        ? (["hour", SECONDS_PER_HOUR] as const)
        : (["day", SECONDS_PER_DAY] as const)
  const age = counted(Math.floor(Math.abs(seconds) / size), unit)
  return seconds < 0 ? `${age} ahead of this device's clock` : `${age} ago`
}

const line = (...parts: ReadonlyArray<Node | string>): HTMLElement => make("span", {}, ...parts)

const stateOf = ({ mandate }: Proved): HTMLElement =>
  line(
    mandate.state,
    ...(mandate.end_reason === undefined ? [] : [`, ${mandate.end_reason}`]),
    ...(mandate.revocation === undefined ? [] : [": ", said(mandate.revocation.reason)])
  )

const row = (label: string, count: number, amount: string): HTMLElement =>
  make(
    "tr",
    {},
    make("th", { scope: "row" }, label),
    make("td", { class: "number" }, String(count)),
    make("td", { class: "number" }, amount)
  )

const outcomeRows = ({ mandate, outcomes, refunded }: Proved): ReadonlyArray<HTMLElement> => {
  const { currency } = mandate.policy
  return [
    ...outcomes.map(({ amount, count, outcome }) => ({ label: OUTCOME_WORDS[outcome], count, amount })),
    { label: "Refunds, as the caller reported them", ...refunded }
  ]
    .filter(({ count }) => count > 0)
    .map(({ amount, count, label }) => row(label, count, amount === undefined ? "" : money(amount, currency)))
}

const outcomes = (proved: Proved): HTMLElement | undefined => {
  const rows = outcomeRows(proved)
  if (rows.length === 0) return undefined
  const titles = ["Outcome", "Actions", "Amount"].map((title) => make("th", { scope: "col" }, title))
  return make(
    "table",
    { class: "sums" },
    make("caption", {}, "What became of the actions"),
    make("thead", {}, make("tr", {}, ...titles)),
    make("tbody", {}, ...rows)
  )
}

/** How it was verified. */
export interface VerifiedWith {
  readonly kid: string | undefined
  readonly files: ReadonlyArray<File>
}

/** Whose mandate it is, in which state, as of when. */
export const provedView = (proved: Proved, { files, kid }: VerifiedWith): HTMLElement => {
  const { head, mandate } = proved
  return section(
    "proved",
    "What was proved",
    make(
      "dl",
      { class: "details" },
      term("Mandate", line(code(mandate.id), `, ${mandate.kind}, version ${mandate.version}`)),
      term("State", stateOf(proved)),
      term("Organization", line(code(proved.organization_id), `, ${proved.environment} environment`)),
      term("Subject", said(mandate.subject_reference)),
      ...(mandate.description === undefined ? [] : [term("Description", said(mandate.description))]),
      term(
        "Valid",
        line(instant(mandate.window.starts_at), " until before ", instant(mandate.window.ends_at))
      ),
      term("Generated", line(instant(proved.generated_at), ` (${ageOf(proved.age_seconds)})`)),
      term(
        "Head",
        code(`${head.seq}:${head.hash}`),
        line("Keep it, and enter it as the remembered head the next time.")
      ),
      ...(kid === undefined ? [] : [term("Signed with", code(kid))]),
      term("Decisions", `${proved.decisions_rerun} made again, with the same outcome`),
      term(
        "Verified",
        line("on this device at ", instant(new Date().toISOString())),
        ...files.map((file) => said(file.name))
      )
    ),
    outcomes(proved),
    disclosure("The policy, as it is recorded", () => json(mandate.policy))
  )
}

const HIDDEN =
  "The approval page of the service never writes invisible characters. They were in the text that was signed, and are shown as U+XXXX here."

const signedLines = ({ lines }: ProvedApproval): ReadonlyArray<Node> => {
  const shown = lines.map(({ label, value }) => ({ label: signedLine(label), value: signedLine(value) }))
  const groups: Array<HTMLElement> = []
  let last: string | undefined
  for (const [index, { label, value }] of shown.entries()) {
    const { label: text } = lines[index]!
    if (text !== last) groups.push(make("div", {}, make("dt", {}, label.shown)))
    groups.at(-1)?.append(make("dd", {}, value.shown))
    last = text
  }
  const hides = shown.some(({ label, value }) => label.hides || value.hides)
  return [
    ...(hides ? [make("p", { class: "notice failure" }, HIDDEN)] : []),
    make("div", { class: "signed" }, make("dl", { class: "details" }, ...groups))
  ]
}

/** What the end user read and signed, and with which passkey. */
export const approvalView = ({ approval, mandate }: Proved): HTMLElement => {
  if (approval === undefined) {
    const text =
      mandate.state === "REJECTED"
        ? "The mandate was declined: nobody approved it."
        : "Nobody approved this mandate. No passkey has signed its terms."
    return section("approval", "The approval", make("p", { class: "notice" }, text))
  }
  return section(
    "approval",
    "The approval",
    make("p", {}, "The text that was shown and signed with the passkey, word for word:"),
    ...signedLines(approval),
    make(
      "dl",
      { class: "details" },
      term("Approved", instant(approval.approved_at)),
      term("For", said(approval.organization_name)),
      term("On the page", exact(approval.origin)),
      term("Relying party", exact(approval.rp_id)),
      term("Passkey", exact(approval.credential_id)),
      term("Vouched for by, as the service recorded it", exact(approval.identity_issuer)),
      term("Language", exact(approval.locale))
    )
  )
}
