import { isIdentifier } from "@svc/protocol/Identifier"
import { Effect } from "effect"
import {
  type LoadQuery,
  MandateStore,
  type StoreUnavailable,
  type StreamReference
} from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { NotFound } from "../Refusals.ts"
import { type AppendFailure, appendDue } from "./AppendFacts.ts"
import { asOf, type CurrentStream } from "./CurrentStream.ts"
import { settleStream } from "./RunCommand.ts"
import type { SettledStream } from "./StreamCommand.ts"

/** The stream that a path names; a malformed identifier names none. */
export const namedStream = (reference: StreamReference): StreamReference | undefined => {
  if ("mandate" in reference) return isIdentifier("mnd_", reference.mandate) ? reference : undefined
  if ("authorization" in reference) {
    return isIdentifier("aut_", reference.authorization) ? reference : undefined
  }
  return reference
}

/**
 * Loads a stream and appends what is due, unless another append gets in first. For attempts that are repeated as a whole:
 * one that has its turn must not wait for a turn.
 */
export const tryReadStream = Effect.fnUntraced(function* (
  query: LoadQuery
): Effect.fn.Return<CurrentStream, NotFound | AppendFailure, MandateStore | Randomness> {
  const store = yield* MandateStore
  const loaded = yield* store.load(query)
  if (loaded.stream === undefined) return yield* new NotFound()
  return yield* appendDue(asOf(loaded.stream, loaded.now))
})

/**
 * Loads a stream, appends what is due, and gives the stream as it then is. Only a read that finds something due waits for
 * the turn of the mandate.
 */
export const readStream = Effect.fnUntraced(function* (query: {
  readonly organization: string
  readonly stream: StreamReference
}): Effect.fn.Return<SettledStream, NotFound | StoreUnavailable, MandateStore | Randomness> {
  const store = yield* MandateStore
  const loaded = yield* store.load(query)
  if (loaded.stream === undefined) return yield* new NotFound()
  const { due, head, now, state } = asOf(loaded.stream, loaded.now)
  if (due.length === 0) return { head, now, state }
  return yield* settleStream(query.stream, { ...loaded, stream: loaded.stream })
})
