import { createContext, runInContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { bytesOf, GENERATED, keySet, longLife, signPayload } from "@svc/testkit/EvidenceMaker"
import type * as verifier from "@svc/verifier"
import { VERIFIER_GLOBAL, verifierBundle, verifierGzipBytes } from "../scripts/VerifierBundle.ts"

/** What the verifier may weigh for a page that loads it, compressed. */
const MAX_GZIP_BYTES = 40_000

/** What browsers, Node and edge runtimes all have, beside ECMAScript. */
const WEB_STANDARDS = {
  TextDecoder,
  TextEncoder,
  URL,
  crypto,
  // The bytes of another realm are none to Node's own implementation.
  Uint8Array,
  ArrayBuffer
}

describe("the verifier as one file", () => {
  it(`has less than ${MAX_GZIP_BYTES} bytes compressed, and imports nothing`, () => {
    assert.isBelow(verifierGzipBytes(), MAX_GZIP_BYTES)
    assert.notMatch(verifierBundle("esm"), /\bimport\b|\brequire\b/u)
  })

  it("needs nothing but web standards", async () => {
    const context = createContext({ ...WEB_STANDARDS })
    const { verifyEvidence } = runInContext(
      `${verifierBundle("iife")};${VERIFIER_GLOBAL}`,
      context
    ) as typeof verifier
    const evidence = signPayload(longLife().payload(GENERATED))
    const report = await verifyEvidence(bytesOf(evidence), keySet)
    assert.strictEqual(report.verdict, "valid")
    const cut = await verifyEvidence(bytesOf({ ...evidence, payload: evidence.payload.slice(4) }), keySet)
    assert.strictEqual(cut.verdict, "invalid")
  })
})
