import type { ClientOptions } from "../src/index.ts"

/** One request as it was sent. */
export interface SentRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  /** The body that was sent, parsed. */
  readonly body: unknown
  readonly signal: AbortSignal
}

/** What a request is answered with: a response, or a function of it, which may throw or never answer. */
export type Step = Response | ((request: SentRequest) => Response | Promise<Response>)

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } })

/** A problem document as the service writes it. */
export const problem = (
  status: number,
  code: string,
  members: Readonly<Record<string, unknown>> = {},
  headers: Record<string, string> = {}
): Response =>
  json(
    {
      type: `https://api.example/problems/${code}`,
      title: "A title",
      status,
      detail: "What is wrong.",
      code,
      request_id: "req-1",
      retryable: status === 429 || status >= 500,
      ...members
    },
    status,
    { "content-type": "application/problem+json", ...headers }
  )

/** A connection that is lost before the answer. */
export const lost = (): never => {
  throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") })
}

/** Never answers, and lets go when the attempt is given up. */
export const silence = ({ signal }: SentRequest): Promise<Response> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))

/** A `fetch` that answers one request after another as it was told; one more than that is a failure of the test. */
export const scriptedFetch = (...steps: ReadonlyArray<Step>) => {
  const sent: Array<SentRequest> = []
  const fetch: NonNullable<ClientOptions["fetch"]> = async (url, init) => {
    const step = steps[sent.length]
    const request: SentRequest = {
      method: init.method ?? "GET",
      url: new URL(url),
      headers: new Headers(init.headers),
      body: typeof init.body === "string" ? JSON.parse(init.body) : undefined,
      signal: init.signal as AbortSignal
    }
    sent.push(request)
    if (step === undefined) throw new Error("one request too many")
    return typeof step === "function" ? step(request) : step
  }
  return { fetch, sent }
}

export const BASE_URL = "https://api.example/prefix"
export const API_KEY = "svc_test_key"

/** Options of a client that waits for nothing between attempts. */
export const optionsOf = (fetch: NonNullable<ClientOptions["fetch"]>): ClientOptions => ({
  baseUrl: BASE_URL,
  apiKey: API_KEY,
  fetch,
  backoff: { initial: 0, max: 0 }
})
