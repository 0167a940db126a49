import { formatIdentifier, IDENTIFIER_RANDOM_BYTES, type IdentifierPrefix } from "@svc/protocol/Identifier"
import { type Instant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { Randomness } from "./ports/Randomness.ts"

/** Makes an identifier whose time part is the instant of the command. */
export const makeIdentifier = Effect.fnUntraced(function* (
  prefix: IdentifierPrefix,
  now: Instant
): Effect.fn.Return<string, never, Randomness> {
  const randomness = yield* Randomness
  return formatIdentifier(
    prefix,
    Number(now / NANOS_PER_MILLISECOND),
    randomness.bytes(IDENTIFIER_RANDOM_BYTES)
  )
})
