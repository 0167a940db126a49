import { verifyEvidence, verifyEvidenceBytes } from "@svc/protocol/evidence/EvidenceEnvelope"
import { Result } from "effect"
import { type Json, say } from "./Caller.ts"

/**
 * Verifies the signature of an evidence envelope, then prints its events. Pass the bytes where you have them, since parsed
 * JSON does not show duplicate members.
 */
export const checkEvidence = (envelope: unknown, keySet: unknown): void => {
  const verified =
    envelope instanceof Uint8Array ? verifyEvidenceBytes(envelope, keySet) : verifyEvidence(envelope, keySet)
  if (Result.isFailure(verified)) throw new Error(`the evidence does not verify: ${verified.failure.reason}`)
  const { events } = verified.success.payload as unknown as { readonly events: ReadonlyArray<Json> }
  for (const event of events) say(`   ${event.seq} ${event.type} ${event.occurred_at} (${event.source})`)
}
