import { assert, describe, it } from "@effect/vitest"
import { bytesOf, encoder, GENERATED, keySet, longLife, signPayload } from "@svc/testkit/EvidenceMaker"
import { findNoEvidence } from "./NoEvidence.ts"

const payload = longLife().payload(GENERATED)
const evidence = signPayload(payload)
const forged = signPayload(payload.replace('"amount":4200', '"amount":42'))
const problem = {
  type: "https://api.example.com/problems/mandate_not_found",
  title: "There is no such mandate",
  status: 404,
  detail: "None has this id.",
  code: "mandate_not_found",
  retryable: false
}
const bytes = (text: string): Uint8Array => encoder.encode(text)
const find = (...files: ReadonlyArray<Uint8Array>) => findNoEvidence(files, keySet)

describe("findNoEvidence", () => {
  it("tells a failed download by its outer form", async () => {
    const refusal = "the service's refusal to give it, 404 mandate_not_found"
    for (const [file, what] of [
      [bytes(""), "empty"],
      [bytes(" \r\n"), "empty"],
      [bytesOf(problem), refusal],
      [bytes(JSON.stringify(problem, undefined, 2)), refusal],
      [bytes("<!DOCTYPE html>\n<p>502"), "an HTML page"],
      [bytes("\ufeff\n<html lang=en>"), "an HTML page"]
    ] as const) {
      assert.deepStrictEqual(await find(file), { index: 0, what })
      assert.deepStrictEqual(await find(bytesOf(evidence), file), { index: 1, what })
    }
  })

  it("leaves the verdict on everything else to the verification", async () => {
    const { code: _, ...withoutCode } = problem
    for (const file of [
      bytesOf(evidence),
      bytesOf(forged),
      bytesOf({ ...problem, payload: evidence.payload }),
      bytesOf({ ...problem, ...forged }),
      bytesOf({ ...problem, format: "svc.evidence.v1" }),
      bytesOf(withoutCode),
      bytesOf({ ...problem, status: 200 }),
      bytesOf({ ...problem, status: "404" }),
      bytesOf({ ...problem, code: "valid: evidence of mandate mnd_1" }),
      bytesOf([problem]),
      bytes(`${JSON.stringify(problem)}${JSON.stringify(evidence)}`),
      bytes(`{"status":404,${JSON.stringify(problem).slice(1)}`),
      bytesOf({ ...problem, detail: "x".repeat(65_536) }),
      bytes("{}"),
      bytes("null"),
      bytes("not found"),
      bytes("\0"),
      bytes(`${" ".repeat(1025)}x`),
      bytes("<htmlx>"),
      bytes("<?xml version='1.0'?>"),
      bytesOf(evidence).subarray(0, 100)
    ]) {
      assert.isUndefined(await find(file))
    }
  })

  it("lets the verdict on evidence stand that is not valid, whatever is put behind it", async () => {
    const none = bytesOf(problem)
    assert.isUndefined(await find(bytesOf(forged), none))
    assert.isUndefined(await findNoEvidence([bytesOf(evidence), none], { keys: [] }))
    assert.isUndefined(await findNoEvidence([bytesOf(evidence), none], keySet, { subject: "another" }))
    // A later file may have held the head that is remembered.
    const head = { seq: 9999, hash: "A".repeat(43) }
    assert.strictEqual((await findNoEvidence([bytesOf(evidence), none], keySet, { head }))?.index, 1)
  })
})
