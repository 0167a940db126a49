import { parseTimestamp } from "@svc/protocol/Timestamp"
import { utf8Length } from "@svc/protocol/Utf8"
import type { StreamHead } from "../mandate/MandateState.ts"
import { agreesWithText, type SealedEvent } from "../mandate/SealedEvent.ts"
import type { StreamChange } from "../ports/MandateStore.ts"

/**
 * What is wrong with a change that no correct caller produces; `undefined` when nothing is. A store fails with a defect
 * on such a change, and on one whose `headBefore` is not the recorded head of the stream: either would break the journal
 * for good.
 *
 * Checked are the journal (part 7: `seq` without gaps, the chain of hashes, time that never turns back, the head that the
 * events lead to), that snapshot, sessions and subject belong to the stream, that no claim is made twice, and that each reservation
 * ends.
 */
export const brokenInvariant = (change: StreamChange): string | undefined =>
  brokenParts(change) ?? brokenJournal(change)

const brokenParts = (change: StreamChange): string | undefined => {
  const { terms } = change.mandateState
  if (terms.organization_id !== change.organization || terms.mandate_id !== change.mandate) {
    return "the snapshot is of another mandate"
  }
  const strays = change.sessions.some(
    (session) => session.organizationId !== change.organization || session.mandateId !== change.mandate
  )
  if (strays) return "a session is of another mandate"
  if (change.subject !== undefined && change.subject.reference !== terms.subject_reference) {
    return "the subject is not the mandate's"
  }
  if (change.authorizations.some(({ expiresAt, state }) => state === "RESERVED" && expiresAt === undefined)) {
    return "a reservation has no instant at which it expires"
  }
  const claimed = new Set(change.claims.map(({ kind, name }) => `${kind} ${name}`))
  return claimed.size === change.claims.length ? undefined : "a claim is made twice"
}

const brokenJournal = ({ events, headAfter, headBefore }: StreamChange): string | undefined => {
  if (headBefore === undefined && events.length === 0) return "a stream begins with an event"
  let end = headBefore
  for (const event of events) {
    const next = following(end, event)
    if (typeof next === "string") return next
    end = next
  }
  return isSameHead(end, headAfter) ? undefined : "the head is not where the events lead"
}

/** The head after one more event, or what is wrong with the event. */
const following = (head: StreamHead | undefined, event: SealedEvent): StreamHead | string => {
  const occurredAt = parseTimestamp(event.occurredAt)
  if (event.seq !== (head?.seq ?? 0) + 1) return "the events do not follow the head"
  if (event.previousHash !== head?.hash) return "the events are not chained to the head"
  if (!agreesWithText(event)) return "an event differs from its text"
  if (occurredAt === undefined || (head !== undefined && occurredAt < head.occurredAt)) {
    return "an event lies before the one that it follows"
  }
  const bytes = (head?.bytes ?? 0) + utf8Length(event.text)
  return { seq: event.seq, hash: event.hash, occurredAt, bytes }
}

/** Whether both are the same end of a stream, or none. */
export const isSameHead = (left: StreamHead | undefined, right: StreamHead | undefined): boolean =>
  left === right ||
  (left !== undefined &&
    right !== undefined &&
    left.seq === right.seq &&
    left.hash === right.hash &&
    left.occurredAt === right.occurredAt &&
    left.bytes === right.bytes)
