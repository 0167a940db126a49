import { CONTINUATION_FORMAT, EVIDENCE_FORMAT } from "@svc/protocol/evidence/EvidenceEnvelope"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { mandateRecordOf } from "./MandateResource.ts"
import type { MandateState, StreamHead } from "./MandateState.ts"

/** An event of a journal by its number and hash, which stands for the whole journal up to it. */
export interface EventPosition {
  readonly seq: number
  readonly hash: string
}

export interface EvidencePayload {
  readonly mandate: MandateState
  readonly head: StreamHead
  readonly generatedAt: Instant
  /** The event that a continuation continues from. Absent: evidence of the whole journal. */
  readonly after?: EventPosition
}

/**
 * The payload of evidence (part 7) as JSON text around its events: before the first, and after the last. The texts of the
 * events that were hashed go in between, separated by commas.
 */
export const evidencePayload = ({
  after,
  generatedAt,
  head,
  mandate
}: EvidencePayload): { readonly before: string; readonly behind: string } => {
  const { organization_id, environment } = mandate.terms
  const text = canonicalJson({
    schema: after === undefined ? EVIDENCE_FORMAT : CONTINUATION_FORMAT,
    generated_at: formatNanos(generatedAt),
    organization_id,
    environment,
    mandate: mandateRecordOf(mandate) as unknown as JsonValue,
    ...(after === undefined ? {} : { after: { seq: after.seq, hash: after.hash } }),
    head: { seq: head.seq, hash: head.hash }
  })
  return { before: `${text.slice(0, -1)},"events":[`, behind: "]}" }
}
