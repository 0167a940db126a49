import { encodeBase64Url } from "../Base64Url.ts"
import { domainHash } from "../crypto/DomainHash.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"
import type { JsonObject, JsonValue } from "../json/Json.ts"
import { illFormedStrings } from "../json/StrictJson.ts"

const encoder = new TextEncoder()

const hashOf = (canonicalText: string): string =>
  encodeBase64Url(domainHash("svc:journal:event:v1", encoder.encode(canonicalText)))

const refuseHashed = (event: JsonObject): void => {
  if (Object.hasOwn(event, "hash")) throw new TypeError("the event is hashed already")
}

/**
 * The hash of a journal event that has no `hash` member yet:
 * base64url(SHA-256("svc:journal:event:v1" || LF || JCS(event without hash))), part 7.
 */
export const eventHash = (eventWithoutHash: JsonObject): string => {
  refuseHashed(eventWithoutHash)
  return hashOf(canonicalJson(eventWithoutHash))
}

/** Canonical members of an object without its braces. */
const membersOf = (entries: ReadonlyArray<readonly [string, JsonValue]>): string =>
  canonicalJson(Object.fromEntries(entries)).slice(1, -1)

/** The hash of an event, and the canonical text of the event with it: what the journal keeps for good. */
export const sealEventText = (
  eventWithoutHash: JsonObject
): { readonly hash: string; readonly text: string } => {
  refuseHashed(eventWithoutHash)
  // Members are written once: the hash takes its place among them.
  const entries = Object.entries(eventWithoutHash)
  const before = membersOf(entries.filter(([name]) => name < "hash"))
  const after = membersOf(entries.filter(([name]) => name > "hash"))
  const textWith = (...members: ReadonlyArray<string>) =>
    `{${[before, ...members, after].filter((text) => text !== "").join(",")}}`
  const hash = hashOf(textWith())
  return { hash, text: textWith(`"hash":"${hash}"`) }
}

/**
 * Whether the event's own `hash` is right for the rest of it. Takes any parsed event of bounded depth;
 * strings that no event of this service can contain give false rather than an exception.
 */
export const verifyEventHash = (event: JsonObject): boolean => {
  const { hash, ...rest } = event
  return typeof hash === "string" && illFormedStrings(rest, 1).length === 0 && eventHash(rest) === hash
}
