import { RULES_VERSION } from "@svc/domain/mandate/JournalFact"
import { sourceOf } from "@svc/protocol/EventSource"
import { sealEventText } from "@svc/protocol/evidence/EventHash"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { illFormedStrings } from "@svc/protocol/json/StrictJson"
import { eventShape, isKnownType } from "./EventShapes.ts"
import type { CheckRecorder } from "./Report.ts"
import { faultOf, isObject } from "./Shape.ts"

/** The hash of an event as it must be, and the length of its canonical text; undefined if it has no canonical text. */
const sealed = (event: JsonObject): { readonly hash: string; readonly bytes: number } | undefined => {
  const { hash: _, ...rest } = event
  // A lone surrogate has no UTF-8, and no event of the service holds U+0000.
  return illFormedStrings(rest, 1).length > 0 ? undefined : sealEventText(rest)
}

/** Where a chain goes on: after the last event that is known. */
export interface ChainPosition {
  readonly seq: number
  readonly hash: string | undefined
  readonly occurredAt: string
}

export const CHAIN_START: ChainPosition = { seq: 0, hash: undefined, occurredAt: "" }

const shortly = (value: JsonValue | undefined): string => JSON.stringify(value)?.slice(0, 80) ?? "nothing"

/**
 * Checks that events follow each other, whatever they say: numbers, hashes, order of time, distinct ids. Returns the length of
 * each one's canonical text in bytes.
 */
export const checkChain = (
  events: ReadonlyArray<JsonObject>,
  checks: CheckRecorder,
  after: ChainPosition = CHAIN_START
): ReadonlyArray<number> => {
  const ids = new Set<JsonValue | undefined>()
  let {
    hash: previous,
    occurredAt,
    seq
  } = after as { hash: JsonValue | undefined; occurredAt: string; seq: number }
  checks.made("chain")
  return events.map((event) => {
    seq += 1
    const at = seq
    const fault = (member: string, detail: string) => checks.fault("chain", { seq: at, member, detail })
    if (event.seq !== seq) fault("/seq", `it has seq ${shortly(event.seq)}`)
    if (event.previous_hash !== previous) fault("/previous_hash", "it is not the hash of the event before")
    const own = sealed(event)
    if (own === undefined || event.hash !== own.hash) fault("/hash", "it is not that of the event")
    if (typeof event.occurred_at === "string") {
      // Timestamps of one form sort as text.
      if (event.occurred_at < occurredAt) fault("/occurred_at", "it is before the event that it follows")
      occurredAt = event.occurred_at
    }
    if (ids.has(event.id)) fault("/id", "another event has the id")
    ids.add(event.id)
    previous = event.hash
    return own?.bytes ?? 0
  })
}

const isLaterVersion = ({ data }: JsonObject): boolean =>
  isObject(data) && typeof data.rules_version === "number" && data.rules_version > RULES_VERSION

/** Checks the form of each event. */
export const checkForm = (events: ReadonlyArray<JsonObject>, checks: CheckRecorder): void => {
  checks.made("event_form")
  for (const [index, event] of events.entries()) {
    const { type } = event
    const seq = index + 1
    if (!isKnownType(type)) {
      checks.unsupported("event_form", { seq, member: "/type", detail: `unknown type ${shortly(type)}` })
      continue
    }
    if (isLaterVersion(event)) {
      const detail = `rules of version ${shortly((event.data as JsonObject).rules_version)}`
      checks.unsupported("event_form", { seq, member: "/data/rules_version", detail })
      continue
    }
    const member = faultOf(eventShape(type, index === 0), event)
    if (member !== undefined) {
      checks.fault("event_form", { seq, member, detail: `the member is not one of ${type}, or missing` })
    } else if (event.source !== sourceOf(type)) {
      checks.fault("event_form", { seq, member: "/source", detail: `${type} is ${sourceOf(type)}` })
    }
  }
}
