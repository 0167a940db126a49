/** Verifies an evidence envelope from standard input with the key set of the development server, and prints its events. */
import { text } from "node:stream/consumers"
import { expect, isHelpPrinted, say, withCaller } from "./Caller.ts"
import { checkEvidence } from "./EvidenceCheck.ts"

const HELP = `npm run --silent verify < evidence.json: verifies an evidence envelope, as GET /v1/mandates/{mandate_id}/evidence gives
it, with the key set of the development server, and prints its events. The server must be running.`

const readEnvelope = async () => {
  try {
    return JSON.parse(await text(process.stdin))
  } catch {
    throw new Error("the standard input is no evidence envelope: it is not JSON")
  }
}

if (!isHelpPrinted(HELP)) {
  await withCaller(async (caller) => {
    const keySet = expect(await caller.get("/.well-known/jwks.json"), 200).body
    checkEvidence(await readEnvelope(), keySet)
    say("evidence verified")
  })
}
