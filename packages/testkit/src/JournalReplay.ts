import { evolveAll } from "@svc/domain/mandate/Evolve"
import type { JournalFact } from "@svc/domain/mandate/JournalFact"
import type { MandateState, OpenReservation, StreamState } from "@svc/domain/mandate/MandateState"
import { usageAt } from "@svc/domain/mandate/Usage"
import { evaluatePolicy } from "@svc/domain/policy/PolicyEvaluation"
import type { LoadedStream } from "@svc/domain/ports/MandateStore"
import { verifyEventHash } from "@svc/protocol/evidence/EventHash"
import type { JsonObject } from "@svc/protocol/json/Json"
import { parseJson } from "@svc/protocol/json/ParseJson"
import { parseTimestamp } from "@svc/protocol/Timestamp"

/** What a journal's texts lead to when they are folded from the first. */
export interface ReplayedJournal {
  readonly stream: StreamState
  readonly seq: number
  readonly hash: string
  readonly bytes: number
  /** What does not hold, in words; empty when everything does. */
  readonly faults: ReadonlyArray<string>
}

type DecisionFact = Extract<
  JournalFact,
  { readonly type: "authorization.reserved" | "authorization.denied" | "authorization.indeterminate" }
>

const isDecision = (fact: JournalFact): fact is DecisionFact =>
  fact.type === "authorization.reserved" ||
  fact.type === "authorization.denied" ||
  fact.type === "authorization.indeterminate"

/** JSON with sorted members and exact integers: two values are the same when their texts are. */
export const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === "bigint") return `${member}n`
    if (member instanceof Map) return [...member].sort(([left], [right]) => (left < right ? -1 : 1))
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
  })

const withoutDetail = (reasons: ReadonlyArray<{ readonly detail: string }>) =>
  reasons.map(({ detail: _, ...rest }) => rest)

/** Repeats a decision from the journal before it. The result must be the same (part 7). */
const decisionFaults = (before: StreamState, fact: DecisionFact): ReadonlyArray<string> => {
  const instant = parseTimestamp(fact.occurred_at)
  if (instant === undefined) return [`${fact.authorization_id}: occurred_at is no timestamp`]
  const { data } = fact
  const again = evaluatePolicy(before, data.proposed_action, instant)
  const faults: Array<string> = []
  if (again.decision !== data.decision) {
    faults.push(`${fact.authorization_id}: decided ${data.decision}, again ${again.decision}`)
  }
  if (textOf(withoutDetail(again.reasons)) !== textOf(withoutDetail(data.reasons))) {
    faults.push(`${fact.authorization_id}: other reasons when decided again`)
  }
  if (textOf(usageAt(before.mandate, instant)) !== textOf(data.usage)) {
    faults.push(`${fact.authorization_id}: usage is not that of the fold`)
  }
  return faults
}

/**
 * Folds a journal from its texts alone: numbers without gaps, hashes that chain, time that never turns back, versions
 * that the fold reaches, and every decision made again with the same outcome.
 */
export const replayJournal = (texts: ReadonlyArray<string>): ReplayedJournal => {
  const faults: Array<string> = []
  const events = texts.map((text) => parseJson(text) as JsonObject)
  // States share their authorizations, so each is done with before the next is asked for.
  const states = evolveAll(events as unknown as ReadonlyArray<JournalFact>)
  let stream: StreamState | undefined
  let previous: JsonObject | undefined
  let bytes = 0
  for (const [index, text] of texts.entries()) {
    const event = events[index] as JsonObject
    const fact = event as unknown as JournalFact
    const fault = (what: string) => faults.push(`event ${index + 1}: ${what}`)
    if (event.seq !== index + 1) fault(`has seq ${event.seq}`)
    if (event.previous_hash !== previous?.hash) fault("is not chained to the one before")
    if (!verifyEventHash(event)) fault("its hash is not its own")
    if (previous !== undefined && String(event.occurred_at) < String(previous.occurred_at)) {
      fault("lies before the one that it follows")
    }
    if (stream !== undefined && isDecision(fact)) faults.push(...decisionFaults(stream, fact))
    stream = states.next().value as StreamState
    if (event.mandate_version !== stream.mandate.version) fault("has another version than the fold")
    previous = event
    bytes += new TextEncoder().encode(text).length
  }
  if (stream === undefined || previous === undefined) throw new RangeError("a journal begins with an event")
  return { stream, seq: texts.length, hash: String(previous.hash), bytes, faults }
}

/** What a store holds of a stream beside its journal. */
export interface StoredStream {
  readonly mandate: MandateState
  readonly open: ReadonlyArray<OpenReservation>
  readonly authorizations: StreamState["authorizations"]
  readonly head: LoadedStream["head"]
}

/** Where the stored snapshot and rows differ from the fold of the journal; empty when they do not. */
export const snapshotFaults = (replayed: ReplayedJournal, stored: StoredStream): ReadonlyArray<string> => {
  const faults = [...replayed.faults]
  const compare = (what: string, folded: unknown, kept: unknown) => {
    const [left, right] = [textOf(folded), textOf(kept)]
    if (left !== right) faults.push(`${what}: the journal folds to ${left}, stored is ${right}`)
  }
  compare("mandate", replayed.stream.mandate, stored.mandate)
  compare("open reservations", replayed.stream.open, stored.open)
  for (const [id, row] of stored.authorizations) {
    compare(`authorization ${id}`, replayed.stream.authorizations.get(id), row)
  }
  const { seq, hash, bytes } = stored.head
  compare("head", { seq: replayed.seq, hash: replayed.hash, bytes: replayed.bytes }, { seq, hash, bytes })
  return faults
}
