import { CHECKS, type Check, type EvidenceReport } from "@svc/verifier"
import { make, section } from "./Elements.ts"
import { code, said } from "./ShownText.ts"
import { faultItems } from "./VerdictView.ts"
import { STATUS_WORDS } from "./Words.ts"

const row = (check: Check): HTMLElement => {
  const { detail, faults, name, status } = check
  const why = faults.length === 0 && detail !== undefined ? [make("p", { class: "soft" }, said(detail))] : []
  return make(
    "tr",
    { "data-status": status },
    make("th", { scope: "row" }, code(name)),
    make("td", {}, make("span", { class: "badge", "data-status": status }, STATUS_WORDS[status])),
    make(
      "td",
      {},
      CHECKS[name],
      ...why,
      ...(faults.length === 0 ? [] : [make("ul", {}, ...faultItems(check))])
    )
  )
}

const count = ({ checks }: EvidenceReport): string =>
  (["pass", "fail", "not_pinned", "not_applicable"] as const)
    .map(
      (status) => [checks.filter((check) => check.status === status).length, STATUS_WORDS[status]] as const
    )
    .map(([many, words]) => `${many} ${words.toLowerCase()}`)
    .join(", ")

/** Every check with its outcome. */
export const checkList = (report: EvidenceReport): HTMLElement =>
  section(
    "checks",
    "Checks",
    make("p", { class: "soft" }, `${report.checks.length} checks: ${count(report)}.`),
    make(
      "table",
      {},
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ...["Check", "Outcome", "Passes if"].map((title) => make("th", { scope: "col" }, title))
        )
      ),
      make("tbody", {}, ...report.checks.map(row))
    )
  )
