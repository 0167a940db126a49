import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { keySet, NOW, signPayload } from "@svc/testkit/EvidenceMaker"
import { CHECKS, verifyEvidence } from "@svc/verifier"
import { genuinePayloads } from "./Forger.ts"
import { type EvidenceVector, hashVectors, periodVectors } from "./Vectors.ts"

const FOLDER = new URL("../../../docs/vectors/", import.meta.url)
const textOf = (name: string): string => readFileSync(new URL(name, FOLDER), "utf8")

/** Checks that no journal without a time zone database, and no single envelope, can fail, or that the names pin one by one. */
const NOT_IN_VECTORS: ReadonlyArray<string> = [
  "continuation",
  "head",
  "time_zones",
  "expected_organization",
  "expected_environment",
  "expected_mandate",
  "expected_subject",
  "rp_id",
  "origin"
]

describe("the vectors for verifiers in other languages", () => {
  const keys = JSON.parse(textOf("key-set.json"))
  const index: ReadonlyArray<Omit<EvidenceVector, "text"> & { readonly file: string }> = JSON.parse(
    textOf("evidence.json")
  )

  it("say of each envelope what the verifier says", async () => {
    for (const { about, expectations, failed, file, verdict } of index) {
      const received = readFileSync(new URL(file, FOLDER))
      const options = { ...expectations, now: new Date(expectations.now) }
      const report = await verifyEvidence(received, keys, options)
      const found = report.checks.filter(({ status }) => status === "fail").map(({ name }) => name)
      assert.deepStrictEqual([about, report.verdict, found], [about, verdict, [...failed]])
    }
  })

  it("have evidence that fails each check", () => {
    const failed = new Set(index.flatMap((vector) => vector.failed))
    const missing = Object.keys(CHECKS).filter((name) => !failed.has(name as never))
    assert.deepStrictEqual(missing, NOT_IN_VECTORS)
  })

  it("have the periods that the service has", async () => {
    const shown: ReadonlyArray<{ readonly periods: ReadonlyArray<object> }> = JSON.parse(
      textOf("periods.json")
    )
    const periods = (vectors: typeof shown) => vectors.map((vector) => vector.periods)
    assert.deepStrictEqual(periods(shown), periods(await periodVectors()))
  })

  it("have the hashes and signatures that the tests of the formats have", () => {
    assert.strictEqual(textOf("hashes.json"), hashVectors())
  })

  it("begin with journals that are genuine", async () => {
    for (const payload of genuinePayloads) {
      const report = await verifyEvidence(signPayload(JSON.stringify(payload)), keySet, { now: NOW })
      assert.strictEqual(report.verdict, "valid", payload.mandate.id)
    }
  })
})
