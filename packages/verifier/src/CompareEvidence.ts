import type { Expectations } from "./Expectations.ts"
import type { Evidence } from "./OpenEvidence.ts"
import type { JournalEntry } from "./Replay.ts"
import type { EvidenceReport, Verdict } from "./Report.ts"
import { openAndVerify } from "./VerifyEvidence.ts"

/** Whether later evidence continues earlier evidence. */
export interface EvidenceComparison {
  /** `valid`: both are, and the later has every event of the earlier, unchanged, at its place. */
  readonly verdict: Verdict
  readonly earlier: EvidenceReport
  /** Verified with the head of the earlier as the one that is remembered. */
  readonly later: EvidenceReport
  /** What the later adds; empty unless `valid`. */
  readonly added: ReadonlyArray<JournalEntry>
}

const RANK: ReadonlyArray<Verdict> = ["valid", "unsupported", "invalid"]

/**
 * Verifies two pieces of evidence of one mandate, and that one continues the other. The hash of an event stands for the whole
 * journal up to it, so nothing before can have changed.
 */
export const compareEvidence = async (
  { earlier, later }: { readonly earlier: Evidence; readonly later: Evidence },
  keySet: unknown,
  expectations: Expectations = {}
): Promise<EvidenceComparison> => {
  const before = await openAndVerify(earlier, keySet, expectations)
  const { proved } = before.report
  const known =
    proved === undefined
      ? {}
      : { organization: proved.organization_id, mandate: proved.mandate.id, head: proved.head }
  const after = await openAndVerify(later, keySet, { ...expectations, ...known })
  const verdicts = [before.report.verdict, after.report.verdict]
  const verdict = RANK.findLast((rank) => verdicts.includes(rank)) ?? "invalid"
  return {
    verdict,
    earlier: before.report,
    later: after.report,
    added: verdict === "valid" ? after.events.slice(proved?.head.seq) : []
  }
}
