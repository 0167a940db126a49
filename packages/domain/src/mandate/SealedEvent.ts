import { sourceOf } from "@svc/protocol/EventSource"
import { sealEventText } from "@svc/protocol/evidence/EventHash"
import type { JournalEvent } from "@svc/protocol/Journal"
import type { JsonObject } from "@svc/protocol/json/Json"
import { webhookBody } from "@svc/protocol/webhook/WebhookBody"
import type { JournalFact } from "./JournalFact.ts"
import type { MandateState, StreamHead } from "./MandateState.ts"
import { instantOf } from "./PreparedTerms.ts"

/** An event with its place in the stream, and the texts that stores keep of it. */
export interface SealedEvent {
  readonly seq: number
  readonly id: string
  readonly type: JournalEvent["type"]
  readonly occurredAt: string
  readonly mandateVersion: number
  readonly authorizationId?: string
  readonly hash: string
  /** Hash of the event before it; absent on the first of a stream. */
  readonly previousHash?: string
  /** JCS of the event with its hash (part 7); never rewritten. */
  readonly text: string
  /** The body of its webhook deliveries (part 8). */
  readonly notification: string
}

const notificationOf = (event: Omit<SealedEvent, "text" | "notification">, mandate: SealedFor): string =>
  webhookBody({
    id: event.id,
    type: event.type,
    occurredAt: event.occurredAt,
    mandateId: mandate.terms.mandate_id,
    ...(event.authorizationId === undefined
      ? { state: mandate.state }
      : { authorizationId: event.authorizationId }),
    version: event.mandateVersion
  })

type SealedFor = Pick<MandateState, "state" | "version"> & {
  readonly terms: Pick<MandateState["terms"], "mandate_id">
}

/** Chains one fact to the head of its stream, which is absent for the first event. `mandate` is as the fact leaves it. */
export const sealEvent = (
  head: StreamHead | undefined,
  fact: JournalFact,
  { id, mandate }: { readonly id: string; readonly mandate: SealedFor }
): { readonly sealed: SealedEvent; readonly head: StreamHead } => {
  const seq = (head?.seq ?? 0) + 1
  const { bytes, hash, text } = sealEventText({
    seq,
    id,
    type: fact.type,
    occurred_at: fact.occurred_at,
    source: sourceOf(fact.type),
    mandate_version: mandate.version,
    ...("authorization_id" in fact ? { authorization_id: fact.authorization_id } : {}),
    data: fact.data as unknown as JsonObject,
    ...(head === undefined ? {} : { previous_hash: head.hash })
  })
  const event = {
    seq,
    id,
    type: fact.type,
    occurredAt: fact.occurred_at,
    mandateVersion: mandate.version,
    ...("authorization_id" in fact ? { authorizationId: fact.authorization_id } : {}),
    hash,
    ...(head === undefined ? {} : { previousHash: head.hash })
  }
  return {
    sealed: { ...event, text, notification: notificationOf(event, mandate) },
    head: {
      seq,
      hash,
      occurredAt: instantOf(fact.occurred_at),
      bytes: (head?.bytes ?? 0) + bytes
    }
  }
}

/** Whether `text` ends with the members of the event; JCS puts them all after `data`. */
export const agreesWithText = (event: SealedEvent): boolean => {
  const chained = event.previousHash === undefined ? "" : `"previous_hash":"${event.previousHash}",`
  return event.text.endsWith(
    `"hash":"${event.hash}","id":"${event.id}","mandate_version":${event.mandateVersion},` +
      `"occurred_at":"${event.occurredAt}",${chained}"seq":${event.seq},` +
      `"source":"${sourceOf(event.type)}","type":"${event.type}"}`
  )
}
