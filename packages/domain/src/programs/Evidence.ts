import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { type EvidenceEnvelope, evidenceSigningInput } from "@svc/protocol/evidence/EvidenceEnvelope"
import { EVIDENCE_FORMAT } from "@svc/protocol/evidence/ReadEnvelope"
import { Effect } from "effect"
import { StreamTurns } from "../engine/StreamTurns.ts"
import { evidencePayload } from "../mandate/EvidencePayload.ts"
import { MandateStore, StoreUnavailable } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { Signer, type SignerUnavailable } from "../ports/Signer.ts"
import type { NotFound, OrganizationUnknown } from "../Refusals.ts"
import { readMandatePath, readMandateStream } from "./Mandates.ts"

/** Events read from the journal at a time. */
const JOURNAL_PAGE = 100
/** Most requests for evidence of one organization that one process makes or queues at a time. */
export const MAX_EVIDENCE_IN_LINE = 8
/** Bytes that base64 encodes without a remainder. */
const BASE64_GROUP_BYTES = 3

/**
 * Encodes text piece by piece, in whole base64 groups, and yields in between: a journal may have 32 MiB, and no other request
 * should wait for it.
 */
const encodePieces = Effect.fnUntraced(function* (texts: Iterable<string>): Effect.fn.Return<string> {
  const pieces: Array<string> = []
  let remainder = new Uint8Array(0)
  for (const text of texts) {
    const bytes = concatBytes(remainder, utf8ToBytes(text))
    const whole = bytes.length - (bytes.length % BASE64_GROUP_BYTES)
    pieces.push(encodeBase64Url(bytes.subarray(0, whole)))
    remainder = bytes.slice(whole)
    yield* Effect.yieldNow
  }
  pieces.push(encodeBase64Url(remainder))
  return pieces.join("")
})

const readJournal = Effect.fnUntraced(function* (
  organization: string,
  mandate: string,
  uptoSeq: number
): Effect.fn.Return<ReadonlyArray<string>, StoreUnavailable, MandateStore> {
  const store = yield* MandateStore
  const pages: Array<string> = []
  let seq = 0
  while (seq < uptoSeq) {
    const page = yield* store.journal({ organization, mandate, afterSeq: seq, uptoSeq, limit: JOURNAL_PAGE })
    if (page.length === 0) return yield* new StoreUnavailable({ cause: "the journal has a gap" })
    pages.push(`${seq === 0 ? "" : ","}${page.join(",")}`)
    seq += page.length
  }
  return pages
})

const makeEvidence = Effect.fnUntraced(function* (query: {
  readonly organization: string
  readonly mandateId: string
}): Effect.fn.Return<
  EvidenceEnvelope,
  NotFound | StoreUnavailable | SignerUnavailable,
  MandateStore | Signer | Randomness
> {
  const signer = yield* Signer
  const { state, head, now } = yield* readMandateStream(query)
  const events = yield* readJournal(query.organization, query.mandateId, head.seq)
  const { kid, sign } = yield* signer.current
  const payload = yield* encodePieces(evidencePayload(state.mandate, head, events, now))
  const input = evidenceSigningInput({ kid, payload })
  const signature = yield* sign(input.bytes)
  return {
    format: EVIDENCE_FORMAT,
    protected: input.protected,
    payload,
    signature: encodeBase64Url(signature)
  }
})

/**
 * Signed evidence of a mandate's whole lifecycle (part 7, GET /v1/mandates/{mandate_id}/evidence). A process makes one at
 * a time for each organization and queues a few; beyond that the response is 503 with a time to retry.
 */
export const readEvidence = Effect.fn("readEvidence")(function* (query: {
  readonly organization: string
  readonly mandateId: string
}): Effect.fn.Return<
  EvidenceEnvelope,
  OrganizationUnknown | NotFound | StoreUnavailable | SignerUnavailable,
  MandateStore | Signer | Randomness
> {
  const path = yield* readMandatePath(query)
  const turns = yield* StreamTurns
  const line = JSON.stringify([path.organization, "evidence"])
  if (turns.length(line) >= MAX_EVIDENCE_IN_LINE) return yield* new StoreUnavailable({ retryAfterSeconds: 1 })
  return yield* turns.inTurn(line)(makeEvidence(path))
})
