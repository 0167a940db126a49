import { textTable } from "../command/TextTable.ts"
import type { CheckStatus, Finding } from "./Check.ts"

const STATUSES: ReadonlyArray<CheckStatus> = ["failed", "warning", "skipped", "ok"]

const countOf = (findings: ReadonlyArray<Finding>, status: CheckStatus): number =>
  findings.filter((finding) => finding.status === status).length

/** The worst of the findings; what was skipped is no fault. */
export const overallStatus = (findings: ReadonlyArray<Finding>): "ok" | "warning" | "failed" => {
  if (countOf(findings, "failed") > 0) return "failed"
  return countOf(findings, "warning") > 0 ? "warning" : "ok"
}

/** Whether the command exits 1: for a failure, and where it is strict for a warning too. */
export const isUnsound = (findings: ReadonlyArray<Finding>, isStrict: boolean): boolean => {
  const status = overallStatus(findings)
  return status === "failed" || (isStrict && status === "warning")
}

/** The findings for programs: `{"status", "checks": [{"check", "status", "found", "remedy"}]}`. */
export const reportForPrograms = (findings: ReadonlyArray<Finding>): object => ({
  status: overallStatus(findings),
  checks: findings.map(({ check, found, remedy, status }) => ({ check, status, found, remedy }))
})

const remedies = (findings: ReadonlyArray<Finding>): ReadonlyArray<string> =>
  STATUSES.flatMap((status) =>
    findings.flatMap(({ check, remedy, status: its }) =>
      its === status && remedy !== undefined ? `  ${check}: ${remedy}` : []
    )
  )

/** A reason for which many checks were skipped is told once. */
const SHARED_REASON_CHECKS = 4

const sharedReasons = (findings: ReadonlyArray<Finding>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { found, status } of findings) {
    if (status === "skipped") counts.set(found, (counts.get(found) ?? 0) + 1)
  }
  return new Map([...counts].filter(([, count]) => count >= SHARED_REASON_CHECKS))
}

/** The findings as a person reads them: a table, what to do, and how many there are of each status. */
export const reportForPeople = (findings: ReadonlyArray<Finding>): string => {
  const shared = sharedReasons(findings)
  const rows = findings.filter(({ found, status }) => status !== "skipped" || !shared.has(found))
  const table = textTable(
    ["CHECK", "STATUS", "FOUND"],
    rows.map(({ check, found, status }) => [check, status, found])
  )
  const others = [...shared].map(([reason, count]) => `${count} checks were skipped: ${reason}`)
  const todo = remedies(findings)
  const counts = STATUSES.map((status) => `${countOf(findings, status)} ${status}`).join(", ")
  return [
    table,
    ...(others.length === 0 ? [] : ["", ...others]),
    ...(todo.length === 0 ? [] : ["", "What to do:", ...todo]),
    "",
    counts
  ].join("\n")
}
