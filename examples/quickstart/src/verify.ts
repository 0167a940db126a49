/** Verifies evidence from standard input with the key set of the development server, and prints its events. */
import { buffer } from "node:stream/consumers"
import { expect, isHelpPrinted, say, withCaller } from "./Caller.ts"
import { checkEvidence } from "./EvidenceCheck.ts"

const HELP = `npm run --silent verify < evidence.json: verifies evidence, as GET /v1/mandates/{mandate_id}/evidence gives it, in full,
with the key set of the development server, and prints its events. The server must be running; svc evidence verify needs none.`

const EX_USAGE = 64

if (isHelpPrinted(HELP)) process.exitCode = 0
else if (process.argv.length > 2) {
  console.error("verify takes no arguments: the key set is that of the development server; see --help")
  process.exitCode = EX_USAGE
} else {
  await withCaller(async (caller) => {
    const keySet = expect(await caller.get("/.well-known/jwks.json"), 200).body
    await checkEvidence(await buffer(process.stdin), keySet)
    say("evidence verified")
  })
}
