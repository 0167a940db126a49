/** Verifies an evidence envelope from standard input with the key set of the development server, and prints its events. */
import { buffer } from "node:stream/consumers"
import { expect, isHelpPrinted, say, withCaller } from "./Caller.ts"
import { checkEvidence } from "./EvidenceCheck.ts"

const HELP = `npm run --silent verify < evidence.json: verifies an evidence envelope, as GET /v1/mandates/{mandate_id}/evidence gives
it, with the key set of the development server, and prints its events. The server must be running.`

if (!isHelpPrinted(HELP)) {
  await withCaller(async (caller) => {
    const keySet = expect(await caller.get("/.well-known/jwks.json"), 200).body
    checkEvidence(await buffer(process.stdin), keySet)
    say("evidence verified")
  })
}
