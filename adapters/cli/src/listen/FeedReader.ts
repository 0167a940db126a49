import { FeedEvent } from "@svc/protocol/Journal"
import { LIST_LIMIT_MAX } from "@svc/protocol/request/ListPage"
import { Effect, Redacted, Schema } from "effect"

/** A server, and the API key of the organization whose events are read. */
export interface FeedServer {
  /** Origin, without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}

/** The outcome of one GET /v1/events (part 8). */
export type FeedAnswer =
  | { readonly _tag: "Page"; readonly page: FeedPage }
  /** The server is busy or does not answer; to be retried after `seconds`. */
  | { readonly _tag: "Later"; readonly seconds: number; readonly why: string }
  | { readonly _tag: "CursorRefused" }
  /** The request will be refused again. */
  | { readonly _tag: "Refused"; readonly line: string }

const FeedPage = Schema.Struct({
  data: Schema.Array(FeedEvent),
  has_more: Schema.Boolean,
  next_cursor: Schema.String
})
export type FeedPage = typeof FeedPage.Type

/** Longer than the server allows a request, in milliseconds. */
const ANSWER_TIMEOUT_MS = 35_000

const RETRY_SECONDS = 1
const MAX_RETRY_SECONDS = 60

const secondsOf = (retryAfter: string | null): number =>
  /^\d{1,6}$/u.test(retryAfter ?? "")
    ? Math.min(Math.max(Number(retryAfter), RETRY_SECONDS), MAX_RETRY_SECONDS)
    : RETRY_SECONDS

const decodePage = Schema.decodeUnknownEffect(Schema.fromJsonString(FeedPage))
const decodeProblem = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Struct({ code: Schema.String }))
)

interface RawAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly text: string
}

const request = async (
  server: FeedServer,
  after: string | undefined,
  signal: AbortSignal
): Promise<RawAnswer> => {
  const query = new URLSearchParams({ limit: String(LIST_LIMIT_MAX) })
  if (after !== undefined) query.set("after", after)
  const response = await fetch(`${server.baseUrl}/v1/events?${query}`, {
    headers: { authorization: `Bearer ${Redacted.value(server.apiKey)}`, accept: "application/json" },
    redirect: "manual",
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)])
  })
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    text: await response.text()
  }
}

const refused = (line: string): FeedAnswer => ({ _tag: "Refused", line })

const REFUSALS: Readonly<Record<string, string>> = {
  api_key_invalid: "the server does not accept the API key",
  scope_insufficient: "the API key lacks the scope read",
  billing_account_required: "the organization lacks a billing account"
}

const classify = ({ retryAfter, status, text }: RawAnswer): Effect.Effect<FeedAnswer> => {
  if (status === 200) {
    return Effect.match(decodePage(text), {
      onSuccess: (page) => ({ _tag: "Page", page }),
      onFailure: () => refused("what answers at the base URL is not understood")
    })
  }
  if (status === 429 || status === 408 || status >= 500) {
    const why = status === 429 ? "the server asks for fewer requests" : `the server answers ${status}`
    return Effect.succeed({ _tag: "Later", seconds: secondsOf(retryAfter), why })
  }
  return Effect.match(decodeProblem(text), {
    onSuccess: ({ code }): FeedAnswer =>
      code === "invalid_cursor"
        ? { _tag: "CursorRefused" }
        : refused(REFUSALS[code] ?? `the server answers ${status}`),
    onFailure: () => refused(`the server answers ${status}`)
  })
}

/** Requests the page of events after a cursor, or the first page, once. */
export const readPage = (server: FeedServer, after: string | undefined): Effect.Effect<FeedAnswer> =>
  Effect.tryPromise((signal) => request(server, after, signal)).pipe(
    Effect.flatMap(classify),
    Effect.catch(() =>
      Effect.succeed<FeedAnswer>({
        _tag: "Later",
        seconds: RETRY_SECONDS,
        why: "the server does not answer"
      })
    )
  )
