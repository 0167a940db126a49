import { type DomainLine, domainHashBase64Url } from "../crypto/DomainHash.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"
import type { JsonObject } from "../json/Json.ts"
import { illFormedStrings } from "../json/StrictJson.ts"
import { utf8Length } from "../Utf8.ts"

const EVENT: DomainLine = "svc:journal:event:v1"

const refuseHashed = (event: JsonObject): void => {
  if (Object.hasOwn(event, "hash")) throw new TypeError("the event is hashed already")
}

/**
 * The hash of a journal event that has no `hash` member yet:
 * base64url(SHA-256("svc:journal:event:v1" || LF || JCS(event without hash))), part 7.
 */
export const eventHash = (eventWithoutHash: JsonObject): string => {
  refuseHashed(eventWithoutHash)
  return domainHashBase64Url(EVENT, canonicalJson(eventWithoutHash))
}

/** Canonical text of those members of an event that come after its hash. */
const textBehindHash = (event: JsonObject): string =>
  canonicalJson(Object.fromEntries(Object.entries(event).filter(([name]) => name > "hash")))

/** Where the members that come after the hash begin in the canonical text of an event; at its end if there are none. */
const placeBehindHash = (event: JsonObject, text: string): number => {
  let first: string | undefined
  let isPlain = true
  for (const name of Object.keys(event)) {
    if (name <= "hash") continue
    if (first === undefined || name < first) first = name
    if (typeof event[name] === "object" || name.includes('"')) isPlain = false
  }
  if (first === undefined) return text.length - 1
  // Quotes within strings are escaped, so that the last place where it stands between quotes is its own.
  return isPlain
    ? text.lastIndexOf(`${JSON.stringify(first)}:`)
    : text.length - textBehindHash(event).length + 1
}

/** The hash of an event, and the canonical text of the event with it, which the journal keeps for good, and its length. */
export const sealEventText = (
  eventWithoutHash: JsonObject
): { readonly hash: string; readonly text: string; readonly bytes: number } => {
  refuseHashed(eventWithoutHash)
  const hashed = canonicalJson(eventWithoutHash)
  const hash = domainHashBase64Url(EVENT, hashed)
  // The text is written once, and the hash takes its place among the members.
  const place = placeBehindHash(eventWithoutHash, hashed)
  const [before, behind] = [hashed.slice(0, place), hashed.slice(place)]
  const comma = before === "{" || before.endsWith(",") ? "" : ","
  const text = `${before}${comma}"hash":"${hash}"${behind === "}" ? "" : ","}${behind}`
  return { hash, text, bytes: utf8Length(text) }
}

/**
 * Whether the event's own `hash` is right for the rest of it. Takes any parsed event of bounded depth;
 * strings that no event of this service can contain give false rather than an exception.
 */
export const verifyEventHash = (event: JsonObject): boolean => {
  const { hash, ...rest } = event
  return typeof hash === "string" && illFormedStrings(rest, 1).length === 0 && eventHash(rest) === hash
}
