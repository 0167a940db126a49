import { EVIDENCE_FORMAT } from "@svc/protocol/evidence/ReadEnvelope"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { mandateRecordOf } from "./MandateResource.ts"
import type { MandateState, StreamHead } from "./MandateState.ts"

/**
 * The payload of evidence (part 7) as JSON text in pieces. The events are spliced in as the texts that were hashed; each
 * of `pages` holds some, separated by commas.
 */
export function* evidencePayload(
  mandate: MandateState,
  head: StreamHead,
  pages: Iterable<string>,
  generatedAt: Instant
): Generator<string> {
  const { organization_id, environment } = mandate.terms
  const begin = canonicalJson({
    schema: EVIDENCE_FORMAT,
    generated_at: formatNanos(generatedAt),
    organization_id,
    environment,
    mandate: mandateRecordOf(mandate) as unknown as JsonValue,
    head: { seq: head.seq, hash: head.hash }
  })
  yield `${begin.slice(0, -1)},"events":[`
  yield* pages
  yield "]}"
}
