/** Reports on evidence in words, for a terminal. */
import { formatMajorUnits, minorUnit } from "@svc/protocol/Currency"
import type {
  Check,
  EvidenceComparison,
  EvidenceReport,
  Fault,
  OutcomeSum,
  Proved,
  ReplayedEvent,
  Warning
} from "@svc/verifier"
import { printable } from "./PrintableText.ts"

const LABEL_WIDTH = 14

// Whoever made the evidence, and be it forged, chose texts in it. None may look like a line of the report.
const row = (label: string, text: string): string => printable(`  ${label.padEnd(LABEL_WIDTH)}${text}`)

/** An amount in minor units, as decimal text, in major units where the currency has them. */
const money = (amount: string, currency: string): string => {
  const exponent = minorUnit(currency)
  return exponent === undefined
    ? `${currency} ${amount} (minor units)`
    : `${currency} ${formatMajorUnits(BigInt(amount), exponent)}`
}

const ageOf = (seconds: number): string => {
  const [unit, size] =
    seconds < 3600
      ? (["s", 1] as const)
      : seconds < 172_800
        ? (["h", 3600] as const)
        : (["days", 86_400] as const)
  return seconds < 0 ? `${-seconds} s ahead of this clock` : `${Math.floor(seconds / size)} ${unit} ago`
}

const outcomeRow = ({ amount, count, outcome }: OutcomeSum, currency: string): string =>
  row(
    outcome.toLowerCase(),
    `${count}${amount === undefined || count === 0 ? "" : `, ${money(amount, currency)}`}`
  )

const provedRows = (proved: Proved, kid: string | undefined): ReadonlyArray<string> => {
  const { approval, head, mandate, refunded } = proved
  const { currency } = mandate.policy
  return [
    row("mandate", `${mandate.id}, ${mandate.kind}, version ${mandate.version}`),
    row("state", mandate.state),
    row("organization", `${proved.organization_id} (${proved.environment})`),
    row("subject", mandate.subject_reference),
    ...(approval === undefined
      ? [row("approved", "no")]
      : [
          row("approved", `${approval.approved_at} for ${approval.organization_name} on ${approval.origin}`),
          row("passkey", approval.credential_id)
        ]),
    row("kid", kid ?? ""),
    row("generated", `${proved.generated_at} (${ageOf(proved.age_seconds)})`),
    row("head", `${head.seq}:${head.hash}`),
    row("decisions", `${proved.decisions_rerun} made again, with the same outcome`),
    ...proved.outcomes.map((outcome) => outcomeRow(outcome, currency)),
    ...(refunded.count === 0
      ? []
      : [row("refunded", `${refunded.count}, ${money(refunded.amount, currency)}, as reported`)])
  ]
}

const warningRow = ({ authorization_id, code, detail, seq }: Warning): string =>
  printable(
    `  warning: ${code}${seq === undefined ? "" : `, event ${seq}`}${authorization_id === undefined ? "" : `, ${authorization_id}`}: ${detail}`
  )

const placeOf = ({ member, seq }: Fault): string =>
  [seq === undefined ? "" : `event ${seq}`, member].filter((part) => part !== "").join(" ")

const faultRows = ({ faults, name }: Check): ReadonlyArray<string> =>
  faults.map((fault) => {
    const place = placeOf(fault)
    return printable(`  fail: ${name}${place === "" ? "" : `, ${place}`}: ${fault.detail}`)
  })

const INCIDENT = `This is no outage: the evidence is not what the service signed, or it is not of whom you expected. Treat it as a
security incident, and keep the file as it is.`

/** An unknown key has an innocent cause too, which can be ruled out. */
const UNKNOWN_KEY = `The evidence names the key %, which the key set has not. Fetch the key set again: if it is older than the key, the evidence
verifies then. If not, the key was withdrawn, in which case evidence that is fetched anew verifies, or the evidence is forged.`

const UNSUPPORTED = `This verifier does not know the version or the passkey algorithm. Nothing is known to be wrong: use a newer one.`

const headline = ({ proved, verdict }: EvidenceReport): string => {
  if (verdict === "valid") return printable(`valid: evidence of mandate ${proved?.mandate.id}`)
  return verdict === "invalid"
    ? "INVALID: the evidence must not be relied on"
    : "unsupported: the evidence cannot be verified here"
}

const remedy = ({ checks, kid, verdict }: EvidenceReport): ReadonlyArray<string> => {
  if (verdict === "valid") return []
  if (verdict === "unsupported") return [UNSUPPORTED]
  const failed = checks.filter(({ status }) => status === "fail")
  const isKeyUnknown = failed.length === 1 && failed[0]?.faults[0]?.detail.includes("no key with the kid")
  return isKeyUnknown ? [UNKNOWN_KEY.replace("%", () => printable(kid ?? "of its header"))] : [INCIDENT]
}

export const reportText = (report: EvidenceReport): string => {
  const { checks, kid, proved, warnings } = report
  const open = checks.filter(({ status }) => status === "not_pinned").map(({ name }) => name)
  return [
    headline(report),
    ...checks.flatMap(faultRows),
    ...(proved === undefined ? [] : provedRows(proved, kid)),
    ...warnings.map(warningRow),
    ...(proved === undefined || open.length === 0 ? [] : [row("not pinned", open.join(", "))]),
    ...remedy(report)
  ].join("\n")
}

const counted = (used: {
  readonly committed_amount: number
  readonly reserved_amount: number
  readonly late_amount: number
}): string => `committed ${used.committed_amount}, reserved ${used.reserved_amount}, late ${used.late_amount}`

/** One event of a replay, and how things stand after it. */
export const replayedText = ({
  authorization,
  decided,
  event,
  mandate_state,
  mandate_version,
  usage
}: ReplayedEvent): string =>
  [
    printable(`${event.seq} ${event.occurred_at} ${event.type}`),
    row("mandate", `${mandate_state}, version ${mandate_version}`),
    ...(authorization === undefined
      ? []
      : [row("authorization", `${authorization.id}, ${authorization.state}, ${authorization.amount}`)]),
    ...(decided === undefined ? [] : [row("decision", decided.decision)]),
    ...(decided?.reasons ?? []).map(({ code, detail, pointer }) => row("", `${code} ${pointer}: ${detail}`)),
    row("total", counted(usage)),
    ...usage.periods.map((period) =>
      row(
        `period ${period.period}`,
        `${counted(period)}${period.max_amount === undefined ? "" : ` of ${period.max_amount}`}, ${period.starts_at} to ${period.ends_at}`
      )
    )
  ].join("\n")

/** Whether one continues the other, and what it adds. */
export const comparisonText = ({ added, earlier, later, verdict }: EvidenceComparison): string => {
  if (earlier.verdict !== "valid") return `the earlier evidence is ${reportText(earlier)}`
  if (verdict !== "valid") return `the later evidence is ${reportText(later)}`
  const heads = [earlier, later].map(({ proved }) => `${proved?.head.seq}:${proved?.head.hash}`)
  return [
    `valid: the later evidence continues the earlier, with ${added.length} more events`,
    row(
      "mandate",
      `${later.proved?.mandate.id}, ${earlier.proved?.mandate.state} then, ${later.proved?.mandate.state} later`
    ),
    row("head", `${heads[0]} then`),
    row("", `${heads[1]} later`),
    ...added.map((event) => row(String(event.seq), `${event.occurred_at} ${event.type}`))
  ].join("\n")
}
