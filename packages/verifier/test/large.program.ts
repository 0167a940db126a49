/** Verifies evidence of as many authorizations as a mandate may have, and prints what that took. */
import { readFileSync } from "node:fs"
import { verifyEvidence } from "@svc/verifier"

const [evidence = "", keys = ""] = process.argv.slice(2)
const started = performance.now()
const report = await verifyEvidence(readFileSync(evidence), JSON.parse(readFileSync(keys, "utf8")))
console.log(
  JSON.stringify({
    verdict: report.verdict,
    events: report.proved?.head.seq,
    decisions: report.proved?.decisions_rerun,
    milliseconds: Math.round(performance.now() - started),
    maxRssBytes: process.resourceUsage().maxRSS * 1024
  })
)
