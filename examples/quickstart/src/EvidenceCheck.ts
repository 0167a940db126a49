import { replayEvidence } from "@svc/verifier"
import { say } from "./Caller.ts"

/**
 * Verifies evidence in full, then prints its events and what they prove. Pass the bytes where you have them, since parsed JSON
 * does not show duplicate members.
 */
export const checkEvidence = async (envelope: Uint8Array | object, keySet: unknown): Promise<void> => {
  const { events, report } = await replayEvidence(envelope, keySet)
  const { checks, proved, verdict, warnings } = report
  if (proved === undefined) {
    const failed = checks.filter(({ status }) => status === "fail")
    const why = failed.map(({ detail, name }) => `${name}: ${detail}`).join("; ")
    throw new Error(`the evidence is ${verdict}: ${why}`)
  }
  for (const { event } of events) say(`   ${event.seq} ${event.type} ${event.occurred_at} (${event.source})`)
  for (const { code, detail, seq } of warnings) say(`   warning: ${code}, event ${seq}: ${detail}`)
  say(`   ${proved.decisions_rerun} decisions made again, with the same outcome; head ${proved.head.hash}`)
}
