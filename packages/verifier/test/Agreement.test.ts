import { assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "@svc/protocol/json/Json"
import { keySet, NOW, signPayload } from "@svc/testkit/EvidenceMaker"
import { verifyEvidence } from "@svc/verifier"
import { recountFaults } from "./Forgeries.ts"
import { randomJournal } from "./RandomJournals.ts"

const JOURNALS = 25

describe("the verifier and the recount, which shares no code with it", () => {
  it("both accept random journals, and count the same", async () => {
    let events = 0
    for (let seed = 1; seed <= JOURNALS; seed++) {
      const { generated, journal } = randomJournal(seed)
      const text = journal.payload(generated)
      const payload = JSON.parse(text)
      assert.deepStrictEqual(recountFaults(payload), [], `seed ${seed}`)
      const report = await verifyEvidence(signPayload(text), keySet, { now: NOW })
      const faults = report.checks.flatMap((check) => check.faults)
      assert.deepStrictEqual([seed, report.verdict, faults], [seed, "valid", []])
      assert.deepStrictEqual(report.proved?.mandate as unknown, payload.mandate)
      const decided = payload.events.filter(({ data }: { data: JsonObject }) => "decision" in data)
      assert.strictEqual(report.proved?.decisions_rerun, decided.length)
      const committed = report.proved?.outcomes.find(({ outcome }) => outcome === "COMMITTED")
      assert.strictEqual(committed?.amount, journal.state().mandate.totals.committedAmount.toString())
      events += payload.events.length
    }
    assert.isAbove(events, JOURNALS * 15)
  })
})
