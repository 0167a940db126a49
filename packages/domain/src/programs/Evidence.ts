import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { canonicalJson } from "@svc/protocol/CanonicalJson"
import { EVIDENCE_FORMAT, type EvidenceEnvelope, evidenceSigningInput } from "@svc/protocol/EvidenceEnvelope"
import type { JsonValue } from "@svc/protocol/Json"
import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { mandateRecordOf } from "../MandateResource.ts"
import type { MandateState, StreamHead } from "../MandateState.ts"
import { MandateStore, StoreUnavailable } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { Signer, type SignerUnavailable } from "../ports/Signer.ts"
import type { NotFound } from "../Refusals.ts"
import { readNamed } from "./Mandates.ts"

/** Events read from the journal at a time. */
const JOURNAL_PAGE = 500

/** The payload of evidence (part 7). The events are spliced in as the texts that were hashed. */
export const evidencePayload = (
  mandate: MandateState,
  head: StreamHead,
  events: ReadonlyArray<string>,
  generatedAt: Instant
): string => {
  const { organization_id, environment } = mandate.terms
  const begin = canonicalJson({
    schema: EVIDENCE_FORMAT,
    generated_at: formatNanos(generatedAt),
    organization_id,
    environment,
    mandate: mandateRecordOf(mandate) as unknown as JsonValue,
    head: { seq: head.seq, hash: head.hash }
  })
  return `${begin.slice(0, -1)},"events":[${events.join(",")}]}`
}

const readJournal = Effect.fnUntraced(function* (
  organization: string,
  mandate: string,
  uptoSeq: number
): Effect.fn.Return<ReadonlyArray<string>, StoreUnavailable, MandateStore> {
  const store = yield* MandateStore
  const texts: Array<string> = []
  while (texts.length < uptoSeq) {
    const page = yield* store.journal({
      organization,
      mandate,
      afterSeq: texts.length,
      uptoSeq,
      limit: JOURNAL_PAGE
    })
    if (page.length === 0) return yield* new StoreUnavailable({ cause: "the journal has a gap" })
    texts.push(...page)
  }
  return texts
})

/** Signed evidence of a mandate's whole lifecycle (part 7, GET /v1/mandates/{mandate_id}/evidence). */
export const readEvidence = Effect.fn("readEvidence")(function* (query: {
  readonly organization: string
  readonly mandateId: string
}): Effect.fn.Return<
  EvidenceEnvelope,
  NotFound | StoreUnavailable | SignerUnavailable,
  MandateStore | Signer | Randomness
> {
  const signer = yield* Signer
  const { state, head, now } = yield* readNamed(query)
  const events = yield* readJournal(query.organization, query.mandateId, head.seq)
  const { kid, sign } = yield* signer.current
  const input = evidenceSigningInput({ kid, payload: evidencePayload(state.mandate, head, events, now) })
  const signature = yield* sign(input.bytes)
  return {
    format: EVIDENCE_FORMAT,
    protected: input.protected,
    payload: input.payload,
    signature: encodeBase64Url(signature)
  }
})
