import type { TargetRefused } from "@svc/domain/ports/WebhookTransport"
import { isJsonObject, type JsonValue } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import { Data, Effect, Result } from "effect"
import { exchange, type GuardedAnswer, type GuardedClientOptions } from "./GuardedClient.ts"
import type { ExchangeFailed } from "./GuardedConnection.ts"

/** Largest key set: 64 KiB. */
export const KEY_SET_MAX_BYTES = 65_536
/** How long a fetch may take in all, in milliseconds: somebody's request waits for it. */
export const KEY_SET_LIMIT_MS = 5000

const OK = 200

/** The address did not answer with a key set. */
export class KeySetInvalid extends Data.TaggedError("KeySetInvalid")<{
  readonly reason: "timeout" | "status" | "too_large" | "cut_off" | "malformed"
}> {}

export interface KeySet {
  readonly keys: ReadonlyArray<object>
}

const invalid = (reason: KeySetInvalid["reason"]): KeySetInvalid => new KeySetInvalid({ reason })

/** Reads to the end, or one chunk past the limit. */
const readUpTo = async (body: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length > limit) break
  }
  return Buffer.concat(chunks)
}

const readBody = ({ body }: GuardedAnswer): Effect.Effect<Uint8Array, KeySetInvalid> =>
  Effect.tryPromise({
    try: () => readUpTo(body, KEY_SET_MAX_BYTES),
    catch: () => invalid("cut_off")
  }).pipe(
    Effect.filterOrFail(
      (bytes) => bytes.length <= KEY_SET_MAX_BYTES,
      () => invalid("too_large")
    )
  )

const keysOf = (value: JsonValue): ReadonlyArray<JsonValue> | undefined => {
  const keys = isJsonObject(value) && Object.hasOwn(value, "keys") ? value.keys : undefined
  return Array.isArray(keys) ? keys : undefined
}

const parse = (bytes: Uint8Array): Effect.Effect<KeySet, KeySetInvalid> => {
  const parsed = parseStrictJson(bytes)
  const keys = Result.isSuccess(parsed) ? keysOf(parsed.success) : undefined
  return keys?.every(isJsonObject) ? Effect.succeed({ keys }) : Effect.fail(invalid("malformed"))
}

/**
 * Fetches the key set (RFC 7517 section 5) at an organization's `jwks_uri`, under the same guard as webhooks (part 6):
 * a 200 without redirect, at most 64 KiB of strict JSON, within 5 s. Each call fetches anew;
 * the keys themselves are not checked.
 */
export const fetchKeySet =
  (options: GuardedClientOptions & { readonly wholeLimitMs?: number }) =>
  (jwksUri: string): Effect.Effect<KeySet, KeySetInvalid | TargetRefused | ExchangeFailed> =>
    exchange(options, { method: "GET", url: jwksUri, headers: { accept: "application/json" } }).pipe(
      Effect.filterOrFail(
        ({ statusCode }) => statusCode === OK,
        () => invalid("status")
      ),
      Effect.flatMap(readBody),
      Effect.flatMap(parse),
      Effect.scoped,
      // The limit holds even in an uninterruptible caller.
      Effect.interruptible,
      Effect.timeoutOrElse({
        duration: options.wholeLimitMs ?? KEY_SET_LIMIT_MS,
        orElse: () => Effect.fail(invalid("timeout"))
      })
    )
