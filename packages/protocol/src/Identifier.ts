import * as Schema from "effect/Schema"
import { described } from "./Described.ts"

/** What an identifier names, said by its first four characters (part 1). */
export type IdentifierPrefix = "org_" | "mnd_" | "aut_" | "aps_" | "evt_" | "whe_" | "dlv_" | "key_" | "psk_"

/** Crockford base32 in lower case: without i, l, o and u. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
const BITS_PER_CHARACTER = 5
const BASE = 2 ** BITS_PER_CHARACTER
const TIME_CHARACTERS = 10
const TIME_LIMIT_MILLISECONDS = 2 ** 48

/** Bytes of randomness in an identifier: 80 bits. */
export const IDENTIFIER_RANDOM_BYTES = 10

/** So many random bytes fill whole characters, and are a number that a double holds exactly. */
const BYTES_PER_STEP = 5
const CHARACTERS_PER_STEP = (BYTES_PER_STEP * 8) / BITS_PER_CHARACTER

/** The lowest bits of a whole number below 2^53, the highest first. */
const writeBase32 = (number: number, characters: number): string => {
  let text = ""
  let left = number
  for (let written = 0; written < characters; written++) {
    text = ALPHABET[left % BASE]! + text
    left = Math.floor(left / BASE)
  }
  return text
}

const bigEndian = (bytes: Uint8Array, from: number, to: number): number => {
  let number = 0
  for (let index = from; index < to; index++) number = number * 256 + bytes[index]!
  return number
}

/**
 * A time-ordered identifier: the prefix, then 48 bits of Unix milliseconds and 80 random bits as 26
 * characters of lower-case Crockford base32. Throws a `RangeError` for a time outside of 48 bits or other
 * than `IDENTIFIER_RANDOM_BYTES` bytes.
 */
export const formatIdentifier = (
  prefix: IdentifierPrefix,
  milliseconds: number,
  random: Uint8Array
): string => {
  if (!Number.isInteger(milliseconds) || milliseconds < 0 || milliseconds >= TIME_LIMIT_MILLISECONDS) {
    throw new RangeError("the time of an identifier is a whole number of milliseconds in 48 bits")
  }
  if (random.length !== IDENTIFIER_RANDOM_BYTES) {
    throw new RangeError(`an identifier takes ${IDENTIFIER_RANDOM_BYTES} random bytes`)
  }
  let text = prefix + writeBase32(milliseconds, TIME_CHARACTERS)
  for (let from = 0; from < IDENTIFIER_RANDOM_BYTES; from += BYTES_PER_STEP) {
    text += writeBase32(bigEndian(random, from, from + BYTES_PER_STEP), CHARACTERS_PER_STEP)
  }
  return text
}

const BODY = /^[0-9a-hjkmnp-tv-z]{26}$/u

/** Whether the text has the form of an identifier with that prefix. */
export const isIdentifier = (prefix: IdentifierPrefix, text: string): boolean =>
  text.startsWith(prefix) && BODY.test(text.slice(prefix.length))

const identifier = (prefix: IdentifierPrefix) =>
  described(
    Schema.String.check(Schema.isPattern(new RegExp(`^${prefix}[0-9a-hjkmnp-tv-z]{26}$`, "u"))),
    `Identifier: ${prefix} and 26 characters of lower-case Crockford base32, in order of creation. Opaque.`,
    `${prefix}01kbcd2e3f4g5h6j7k8m9npqrs`
  )

export const OrganizationId = identifier("org_").pipe(Schema.brand("OrganizationId"))
export type OrganizationId = typeof OrganizationId.Type

export const MandateId = identifier("mnd_").pipe(Schema.brand("MandateId"))
export type MandateId = typeof MandateId.Type

export const AuthorizationId = identifier("aut_").pipe(Schema.brand("AuthorizationId"))
export type AuthorizationId = typeof AuthorizationId.Type

export const ApprovalSessionId = identifier("aps_").pipe(Schema.brand("ApprovalSessionId"))
export type ApprovalSessionId = typeof ApprovalSessionId.Type

export const EventId = identifier("evt_").pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type

export const WebhookEndpointId = identifier("whe_").pipe(Schema.brand("WebhookEndpointId"))
export type WebhookEndpointId = typeof WebhookEndpointId.Type

export const DeliveryId = identifier("dlv_").pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

export const ApiKeyId = identifier("key_").pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

export const PasskeyId = identifier("psk_").pipe(Schema.brand("PasskeyId"))
export type PasskeyId = typeof PasskeyId.Type
