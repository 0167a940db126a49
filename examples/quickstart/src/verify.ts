/** Verifies an evidence envelope from standard input with the key set of the development server, and prints its events. */
import { buffer } from "node:stream/consumers"
import { expect, say, withCaller } from "./Caller.ts"
import { checkEvidence } from "./EvidenceCheck.ts"

await withCaller(async (caller) => {
  const keySet = expect(await caller.get("/.well-known/jwks.json"), 200).body
  checkEvidence(await buffer(process.stdin), keySet)
  say("evidence verified")
})
