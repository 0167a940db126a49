import { assert, describe, it } from "@effect/vitest"
import { bytesOf, GENERATED, keySet, longLife, NOW, signPayload } from "@svc/testkit/EvidenceMaker"
import { verifyEvidence } from "./VerifyEvidence.ts"

describe("verifyEvidence", () => {
  it("accepts", async () => {
    const journal = longLife()
    const payload = journal.payload(GENERATED)
    console.log(
      journal.texts
        .map((t) => {
          const e = JSON.parse(t)
          return `${e.seq} ${e.type}`
        })
        .join("\n"),
      payload.length
    )
    const report = await verifyEvidence(bytesOf(signPayload(payload)), keySet, { now: NOW })
    console.log(JSON.stringify(report, null, 1))
    assert.strictEqual(report.verdict, "valid")
  })
})
