import { formatIdentifier, IDENTIFIER_RANDOM_BYTES, type IdentifierPrefix } from "@svc/protocol/Identifier"
import { type Instant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import type { Effect } from "effect"
import { Randomness } from "./ports/Randomness.ts"

/** An identifier whose time part is the instant of the command. */
export const identifierAt = (
  prefix: IdentifierPrefix,
  now: Instant,
  randomness: Randomness["Service"]
): string =>
  formatIdentifier(prefix, Number(now / NANOS_PER_MILLISECOND), randomness.bytes(IDENTIFIER_RANDOM_BYTES))

/** Makes an identifier with the randomness of the program. */
export const makeIdentifier = (
  prefix: IdentifierPrefix,
  now: Instant
): Effect.Effect<string, never, Randomness> =>
  Randomness.useSync((randomness) => identifierAt(prefix, now, randomness))
