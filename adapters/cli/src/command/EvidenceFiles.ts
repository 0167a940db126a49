import { createReadStream } from "node:fs"
import { isJsonObject, type JsonObject } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import { MAX_ENVELOPE_BYTES, MAX_KEY_SET_BYTES } from "@svc/verifier"
import { Data, Effect, Result } from "effect"
import { StandardInput } from "./WebhookCommands.ts"

const KEY_SET_TIMEOUT_MS = 10_000

/** Why evidence could not be looked at, which says nothing about the evidence. */
export class CannotRun extends Data.TaggedError("CannotRun")<{ readonly line: string }> {}

const readUpTo = async (chunks: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> => {
  const kept: Array<Uint8Array> = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > limit) throw new RangeError(`it is longer than ${limit} bytes`)
    kept.push(chunk)
  }
  return new Uint8Array(Buffer.concat(kept))
}

const readFileUpTo = (file: string, limit: number): Promise<Uint8Array> =>
  readUpTo(createReadStream(file), limit)

/** What a failed attempt says, with the cause that Node's `fetch` hides. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  const code = (error as NodeJS.ErrnoException).code ?? (cause as NodeJS.ErrnoException | undefined)?.code
  if (code === "ENOENT") return "there is no such file"
  if (code === "EISDIR") return "it is a folder"
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message
}

const attempt = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, CannotRun> =>
  Effect.tryPromise({
    try: run,
    catch: (error) => new CannotRun({ line: `${what} cannot be read: ${reasonOf(error)}` })
  })

/** The bytes of evidence in a file, or of the standard input for `-`. */
export const readEvidenceFile = (file: string): Effect.Effect<Uint8Array, CannotRun> =>
  file === "-"
    ? StandardInput.use((input) => attempt("the standard input", () => readUpTo(input, MAX_ENVELOPE_BYTES)))
    : attempt(file, () => readFileUpTo(file, MAX_ENVELOPE_BYTES))

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"

/** Keys from an address that others could have changed on the way would prove nothing. */
const fetchKeySet = async (url: URL): Promise<Uint8Array> => {
  if (url.protocol !== "https:" && !isLoopback(url)) throw new Error("a key set is fetched with https alone")
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(KEY_SET_TIMEOUT_MS) })
  if (!response.ok || response.body === null) throw new Error(`the answer has status ${response.status}`)
  return readUpTo(response.body, MAX_KEY_SET_BYTES)
}

const urlOf = (source: string): URL | undefined =>
  /^https?:\/\//iu.test(source) ? (URL.parse(source) ?? undefined) : undefined

/** The key set in a file or at an address. */
export const readKeySet = Effect.fnUntraced(function* (
  source: string
): Effect.fn.Return<JsonObject, CannotRun> {
  const url = urlOf(source)
  const bytes = yield* attempt(`the key set ${source}`, () =>
    url === undefined ? readFileUpTo(source, MAX_KEY_SET_BYTES) : fetchKeySet(url)
  )
  const parsed = parseStrictJson(bytes)
  if (Result.isFailure(parsed) || !isJsonObject(parsed.success) || !Array.isArray(parsed.success.keys)) {
    return yield* new CannotRun({ line: `the key set ${source} is not strict JSON with a list of keys` })
  }
  return parsed.success
})
