import { encodeBase64Url, encodeBase64UrlBytes } from "@svc/protocol/Base64Url"
import {
  CONTINUATION_FORMAT,
  EVIDENCE_FORMAT,
  type EvidenceContinuation,
  type EvidenceEnvelope,
  evidenceHeader
} from "@svc/protocol/evidence/EvidenceEnvelope"
import { integerBetween, MAX_SAFE_INTEGER } from "@svc/protocol/Mandate"
import { Effect, Stream } from "effect"
import { EvidenceReads } from "../engine/EvidenceReads.ts"
import { listReader, type QueryRefusal } from "../engine/ProgramQuery.ts"
import { StreamTurns } from "../engine/StreamTurns.ts"
import { type EventPosition, evidencePayload } from "../mandate/EvidencePayload.ts"
import type { StreamHead } from "../mandate/MandateState.ts"
import { MandateStore, StoreUnavailable } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { Signer, type SignerUnavailable, type Signing } from "../ports/Signer.ts"
import { HistoryChanged, type NotFound, type OrganizationUnknown } from "../Refusals.ts"
import { readMandatePath, readMandateStream } from "./Mandates.ts"

/** Text that one read of the journal is to give, in characters; the number of events is fitted to it. */
const JOURNAL_PAGE_CHARACTERS = 64 * 1024
/** Events of the first read of the journal. */
const FIRST_JOURNAL_PAGE = 16
/** Most events of one read of the journal. */
const MAX_JOURNAL_PAGE = 128
/** Bytes that base64 encodes without a remainder. */
const BASE64_GROUP_BYTES = 3
/** Bytes of the payload that are encoded and hashed at a time: little enough that nobody else feels it. */
const SLICE_BYTES = 16 * 1024 * BASE64_GROUP_BYTES

/** A mandate and its journal, whose evidence is read. */
interface Journal {
  readonly organization: string
  readonly mandateId: string
  readonly head: StreamHead
  readonly afterSeq: number
}

/** The evidence of a mandate, to be taken piece by piece: a journal may have 32 MiB. */
export interface EvidenceReading {
  readonly format: typeof EVIDENCE_FORMAT | typeof CONTINUATION_FORMAT
  readonly protected: string
  /** About how long the payload is, in bytes before its encoding. */
  readonly estimatedBytes: number
  /** `payload` of the envelope, in ASCII. To be run once. */
  readonly payload: Stream.Stream<Uint8Array<ArrayBuffer>, StoreUnavailable>
  /** `signature` of the envelope, once all of the payload has been taken. */
  readonly signature: Effect.Effect<string, SignerUnavailable>
}

type ReadingFault = NotFound | HistoryChanged | StoreUnavailable | SignerUnavailable
type ReadingServices = MandateStore | Signer | Randomness

const journalFault = (cause: string) => Effect.fail(new StoreUnavailable({ cause }))

/** Gives one text after another, some with each run, and undefined at the end. */
type Texts<E = never, R = never> = Effect.Effect<ReadonlyArray<string> | undefined, E, R>

/** Gives the events after `afterSeq` up to the head, and the commas between them. */
const journalTexts = ({
  afterSeq,
  head,
  mandateId,
  organization
}: Journal): Texts<StoreUnavailable, MandateStore> => {
  let seq = afterSeq
  let limit = FIRST_JOURNAL_PAGE
  return Effect.gen(function* () {
    if (seq === head.seq) return undefined
    const store = yield* MandateStore
    const page = yield* store.journal({
      organization,
      mandate: mandateId,
      afterSeq: seq,
      uptoSeq: head.seq,
      limit
    })
    if (page.length === 0) return yield* journalFault("the journal has a gap")
    const texts = page.flatMap((text, index) => (seq + index === afterSeq ? [text] : [",", text]))
    seq += page.length
    if (seq === head.seq && !page.at(-1)!.includes(`"hash":"${head.hash}"`)) {
      return yield* journalFault("the journal ends in another event than its head")
    }
    const characters = page.reduce((sum, text) => sum + text.length, 0)
    const fitting = Math.floor((page.length * JOURNAL_PAGE_CHARACTERS) / characters)
    limit = Math.max(1, Math.min(fitting, 2 * limit, MAX_JOURNAL_PAGE))
    return texts
  })
}

/** Gives a text before those that an effect gives, and another after them. */
const around = <E, R>(before: string, texts: Texts<E, R>, behind: string): Texts<E, R> => {
  let step: "before" | "between" | "end" = "before"
  return Effect.suspend(() => {
    if (step === "end") return Effect.succeed(undefined)
    if (step === "before") {
      step = "between"
      return Effect.succeed([before])
    }
    return Effect.map(texts, (given) => {
      if (given !== undefined) return given
      step = "end"
      return [behind]
    })
  })
}

const encoder = new TextEncoder()

/**
 * Encodes texts as base64url of their UTF-8, in whole groups until the end; gives undefined after that. One buffer serves for
 * all slices, since large ones would have to be collected as garbage while everybody waits.
 */
const base64Slices = <E, R>(texts: Texts<E, R>): Effect.Effect<Uint8Array<ArrayBuffer> | undefined, E, R> => {
  const buffer = new Uint8Array(SLICE_BYTES)
  let length = 0
  let waiting: Array<string> = []
  let isEnd = false
  /** Takes what waits as long as there is room, and tells whether something is left. */
  const fill = (): boolean => {
    for (const [index, text] of waiting.entries()) {
      const { read, written } = encoder.encodeInto(text, buffer.subarray(length))
      length += written
      if (read < text.length) {
        waiting = [text.slice(read), ...waiting.slice(index + 1)]
        return true
      }
    }
    waiting = []
    return false
  }
  return Effect.gen(function* () {
    let isLeft = fill()
    while (!isLeft && !isEnd) {
      const given = yield* texts
      isEnd = given === undefined
      waiting = [...(given ?? [])]
      isLeft = fill()
    }
    const whole = isLeft ? length - (length % BASE64_GROUP_BYTES) : length
    const encoded = encodeBase64UrlBytes(buffer.subarray(0, whole))
    buffer.copyWithin(0, whole, length)
    length -= whole
    return encoded.length === 0 ? undefined : encoded
  })
}

/**
 * The encoded payload, hashed as it is given. An organization's reads of evidence make one slice at a time between them,
 * and whatever else the process has to do goes before the next: so none of them is felt by anybody else. Between slices a
 * read holds nothing of the store, however slowly it is taken.
 */
const encodedPayload = (
  organization: string,
  texts: Texts<StoreUnavailable, MandateStore>,
  signing: Signing
): Stream.Stream<Uint8Array<ArrayBuffer>, StoreUnavailable, MandateStore> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const turns = yield* StreamTurns
      const isUnderWay = yield* (yield* EvidenceReads).begin(organization)
      const inTurn = turns.inTurn(JSON.stringify([organization, "evidence"]))
      const slice = base64Slices(texts)
      const encoded = Effect.gen(function* () {
        yield* Effect.yieldNow
        if (!isUnderWay()) return yield* journalFault("the evidence was taken too slowly")
        const text = yield* slice
        if (text === undefined) return undefined
        signing.update(text)
        return [text, undefined] as const
      })
      return Stream.unfold(undefined, () => inTurn(encoded))
    })
  )

/** The position of an event of the journal, which a longer journal had if this one has not. */
const positionOf = Effect.fnUntraced(function* ({
  afterSeq,
  head,
  mandateId,
  organization
}: Journal): Effect.fn.Return<EventPosition, HistoryChanged | StoreUnavailable, MandateStore> {
  if (afterSeq > head.seq) return yield* new HistoryChanged()
  if (afterSeq === head.seq) return { seq: head.seq, hash: head.hash }
  const store = yield* MandateStore
  const [text] = yield* store.journal({
    organization,
    mandate: mandateId,
    afterSeq: afterSeq - 1,
    uptoSeq: afterSeq,
    limit: 1
  })
  if (text === undefined) return yield* journalFault("the journal has a gap")
  return { seq: afterSeq, hash: JSON.parse(text).hash }
})

const openReading = Effect.fnUntraced(function* (query: {
  readonly organization: string
  readonly mandateId: string
  readonly afterSeq?: number | undefined
}): Effect.fn.Return<EvidenceReading, ReadingFault, ReadingServices> {
  const { organization, mandateId, afterSeq = 0 } = query
  const { state, head, now } = yield* readMandateStream(query)
  const journal: Journal = { organization, mandateId, head, afterSeq }
  const after = query.afterSeq === undefined ? {} : { after: yield* positionOf(journal) }
  const { kid, begin } = yield* (yield* Signer).current
  if ((yield* EvidenceReads).areAll(organization))
    return yield* new StoreUnavailable({ retryAfterSeconds: 1 })
  const { before, behind } = evidencePayload({ mandate: state.mandate, head, generatedAt: now, ...after })
  const header = evidenceHeader(kid)
  const signing = begin()
  signing.update(encoder.encode(`${header}.`))
  const texts = around(before, journalTexts(journal), behind)
  const context = yield* Effect.context<ReadingServices>()
  return {
    format: query.afterSeq === undefined ? EVIDENCE_FORMAT : CONTINUATION_FORMAT,
    protected: header,
    estimatedBytes: before.length + Math.ceil((head.bytes * (head.seq - afterSeq)) / head.seq),
    payload: Stream.provideContext(encodedPayload(organization, texts, signing), context),
    signature: Effect.map(signing.signature, encodeBase64Url)
  }
})

/** Takes all of a reading at once. */
const takeAll = Effect.fnUntraced(function* (reading: EvidenceReading) {
  const decoder = new TextDecoder()
  const pieces = yield* Stream.runCollect(Stream.map(reading.payload, (piece) => decoder.decode(piece)))
  return {
    protected: reading.protected,
    payload: pieces.join(""),
    signature: yield* reading.signature
  }
})

/** Signed evidence of a mandate's whole lifecycle, to be taken piece by piece (part 7). */
export const openEvidence = Effect.fn("openEvidence")(function* (query: {
  readonly organization: string
  readonly mandateId: string
}): Effect.fn.Return<EvidenceReading, OrganizationUnknown | ReadingFault, ReadingServices> {
  return yield* openReading(yield* readMandatePath(query))
})

const readContinuationQuery = listReader({ afterSeq: integerBetween(1, MAX_SAFE_INTEGER) }, "mandateId")

/** Signed evidence of what followed the event `afterSeq`, to be taken piece by piece (part 7). */
export const openContinuation = Effect.fn("openContinuation")(function* (query: {
  readonly organization: string
  readonly mandateId: string
  readonly afterSeq: number
}): Effect.fn.Return<EvidenceReading, QueryRefusal | ReadingFault, ReadingServices> {
  const { afterSeq, mandateId, organization } = yield* readContinuationQuery(query)
  return yield* openReading({ organization, mandateId, afterSeq })
})

/**
 * Signed evidence of a mandate's whole lifecycle (part 7, GET /v1/mandates/{mandate_id}/evidence). Beyond
 * `MAX_EVIDENCE_READS` of one organization at once it is refused with a time to retry.
 */
export const readEvidence = Effect.fn("readEvidence")(function* (
  query: Parameters<typeof openEvidence>[0]
): Effect.fn.Return<EvidenceEnvelope, OrganizationUnknown | ReadingFault, ReadingServices> {
  return { format: EVIDENCE_FORMAT, ...(yield* takeAll(yield* openEvidence(query))) }
})

/**
 * Signed evidence of what followed an event that the caller has (part 7, `after_seq`). An `afterSeq` beyond the journal is
 * refused: the journal that it was read in is not the store's any more.
 */
export const readContinuation = Effect.fn("readContinuation")(function* (
  query: Parameters<typeof openContinuation>[0]
): Effect.fn.Return<EvidenceContinuation, QueryRefusal | ReadingFault, ReadingServices> {
  return { format: CONTINUATION_FORMAT, ...(yield* takeAll(yield* openContinuation(query))) }
})
