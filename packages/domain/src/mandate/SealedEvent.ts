import { utf8ToBytes } from "@noble/hashes/utils.js"
import { sealEventText } from "@svc/protocol/EventHash"
import { type JournalEvent, sourceOf } from "@svc/protocol/Journal"
import type { JsonObject } from "@svc/protocol/Json"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import type { JournalFact } from "./JournalFact.ts"
import type { StreamHead } from "./MandateState.ts"

/** An event with its place in the stream, and the canonical text that is stored and hashed (part 7). */
export interface SealedEvent {
  readonly seq: number
  readonly id: string
  readonly type: JournalEvent["type"]
  readonly occurredAt: string
  readonly mandateVersion: number
  readonly authorizationId?: string
  /** JCS of the event with its hash; never rewritten. */
  readonly text: string
}

/** Chains one fact to the head of its stream. `head` is absent for the first event. */
export const sealEvent = (
  head: StreamHead | undefined,
  fact: JournalFact,
  event: {
    readonly id: string
    /** The mandate's, after the event. */
    readonly mandateVersion: number
  }
): { readonly sealed: SealedEvent; readonly head: StreamHead } => {
  const seq = (head?.seq ?? 0) + 1
  const { hash, text } = sealEventText({
    seq,
    id: event.id,
    type: fact.type,
    occurred_at: fact.occurred_at,
    source: sourceOf(fact.type),
    mandate_version: event.mandateVersion,
    ...("authorization_id" in fact ? { authorization_id: fact.authorization_id } : {}),
    data: fact.data as unknown as JsonObject,
    ...(head === undefined ? {} : { previous_hash: head.hash })
  })
  return {
    sealed: {
      seq,
      id: event.id,
      type: fact.type,
      occurredAt: fact.occurred_at,
      mandateVersion: event.mandateVersion,
      ...("authorization_id" in fact ? { authorizationId: fact.authorization_id } : {}),
      text
    },
    head: {
      seq,
      hash,
      occurredAt: parseTimestamp(fact.occurred_at) as bigint,
      bytes: (head?.bytes ?? 0) + utf8ToBytes(text).length
    }
  }
}
