import { withRetries } from "./Retries.ts"
import { type Backoff, readRetryAfter } from "./RetryDelay.ts"
import { abortedBeforehand, invalidArgument, numberWithin, SvcError } from "./SvcError.ts"
import { isThenable } from "./Thenable.ts"
import { TIMER_MAX_MILLISECONDS, TimeIsOver, withTimeLimit } from "./TimeLimit.ts"

/** How a single call is made. */
export interface RequestOptions {
  /** Ends the call, between attempts too. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for each attempt, its answer included. Default: the client's; none in process. */
  readonly timeout?: number | undefined
  /** Attempts after the first. Default: the client's; none in process. */
  readonly retries?: number | undefined
}

/** How one write is made. */
export interface WriteOptions extends RequestOptions {
  /**
   * Names the operation, 1 to 255 visible ASCII characters: whatever is sent under it happens once. Default: a random one,
   * which all attempts of the call share.
   */
  readonly idempotencyKey?: string | undefined
}

/** One operation of the API. */
export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Path and query, after the base URL. */
  readonly path: string
  /** The status of its success. With 204 there is no body. */
  readonly status: 200 | 201 | 204
  readonly body?: unknown
  /** Whether it is sent under an idempotency key. What is not happens once however often it is sent. */
  readonly keyed?: boolean
}

export interface TransportSettings {
  readonly baseUrl: string
  readonly apiKey: string
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly timeout: number
  readonly retries: number
  readonly backoff: Backoff
}

export type Transport = <A>(operation: Operation, options?: WriteOptions) => Promise<A>

/** A request that is ready to be sent, the same for every attempt. */
interface PreparedRequest {
  readonly operation: Operation
  readonly baseUrl: string
  readonly init: RequestInit
  readonly idempotencyKey: string | undefined
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** Statuses after which another attempt may succeed, where no problem document says so: those of proxies. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

const keyOf = ({ keyed }: Operation, given: string | undefined): string | undefined => {
  if (keyed !== true) return undefined
  const key = given ?? crypto.randomUUID()
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw invalidArgument("an idempotency key has 1 to 255 visible ASCII characters")
  }
  return key
}

/** JSON of an input; throws `invalid_argument` for what is none. */
export const jsonText = (body: unknown): string => {
  if (isThenable(body)) throw invalidArgument("the input was given as a promise: await it")
  try {
    return JSON.stringify(body)
  } catch (cause) {
    throw new SvcError({ code: "invalid_argument", message: "the input is not JSON", cause })
  }
}

/** The body is written down here, so that whatever happens to the input later, every attempt sends the same. */
const prepare = (
  operation: Operation,
  { apiKey, baseUrl }: TransportSettings,
  given: string | undefined
): PreparedRequest => {
  const idempotencyKey = keyOf(operation, given)
  const headers: Record<string, string> = { accept: "application/json", authorization: `Bearer ${apiKey}` }
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey
  // A cache in between must not answer for the service.
  if (operation.method === "GET") headers["cache-control"] = "no-cache"
  const init: RequestInit = { method: operation.method, headers, redirect: "manual" }
  if (operation.body === undefined) return { operation, baseUrl, idempotencyKey, init }
  headers["content-type"] = "application/json"
  const body = jsonText(operation.body)
  return { operation, baseUrl, idempotencyKey, init: { ...init, body } }
}

const parseObject = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

const isFault = (fault: unknown): fault is SvcError["errors"][number] =>
  typeof fault === "object" &&
  fault !== null &&
  ["pointer", "code", "detail"].every(
    (name) => textOf((fault as Record<string, unknown>)[name]) !== undefined
  )

/** What is wrong by member; what a later service may list beside that is left out. */
const faultsOf = (errors: unknown): SvcError["errors"] =>
  Array.isArray(errors) ? errors.filter(isFault) : []

const problemMessage = (
  problem: Readonly<Record<string, unknown>>,
  requestId: string | undefined
): string => {
  const faults = faultsOf(problem.errors).map(({ detail, pointer }) => `${pointer || "the body"}: ${detail}`)
  const words = [textOf(problem.title), textOf(problem.detail), ...faults].filter(
    (text) => text !== undefined
  )
  const parts = [...new Set(words)].map((text) => text.replace(/\.$/, ""))
  return `${parts.join(". ")} (${problem.code}${requestId === undefined ? "" : `, request ${requestId}`})`
}

/** A problem of the service names the route in `instance`, unless there is none at that address. */
const isWithoutRoute = (problem: Readonly<Record<string, unknown>>): boolean =>
  problem.code === "not_found" && problem.instance === undefined

const noRoute = (request: PreparedRequest): string =>
  `. ${placeOf(request)} is no route of the API: check baseUrl, ${request.baseUrl}, for its host and its path`

/** Characters of a media type that an error shows at most. */
const MEDIA_TYPE_MAX_CHARACTERS = 64

const mediaTypeOf = ({ headers }: Response): string =>
  headers.get("content-type")?.split(";")[0]?.trim().slice(0, MEDIA_TYPE_MAX_CHARACTERS) ||
  "without a content type"

/** The error that a response other than the expected success stands for. */
const errorOf = (request: PreparedRequest, response: Response, text: string): SvcError => {
  const { status } = response
  const problem = parseObject(text)
  const requestId = textOf(problem?.request_id) ?? response.headers.get("x-request-id") ?? undefined
  const shared = {
    status,
    requestId,
    retryAfter: readRetryAfter(response.headers.get("retry-after"), Date.now()),
    idempotencyKey: request.idempotencyKey
  }
  if (status >= 400 && typeof problem?.code === "string" && typeof problem.retryable === "boolean") {
    return new SvcError({
      ...shared,
      code: problem.code,
      message: problemMessage(problem, requestId) + (isWithoutRoute(problem) ? noRoute(request) : ""),
      retryable: problem.retryable,
      errors: faultsOf(problem.errors),
      currentState: textOf(problem.current_state),
      resourceId: textOf(problem.resource_id)
    })
  }
  return new SvcError({
    ...shared,
    code: "unexpected_response",
    message: `${placeOf(request)} was answered ${status} (${mediaTypeOf(response)}) by something other than the service. It is a proxy in between, or baseUrl is not the address of the API: check ${request.baseUrl}`,
    // A success that cannot be read may be the service's, cut short: it is safe to ask again. A web page never is.
    retryable:
      RETRYABLE_STATUSES.has(status) ||
      (status >= 200 && status < 300 && mediaTypeOf(response) !== "text/html")
  })
}

/** Method and address, without the query. */
const placeOf = ({ baseUrl, operation: { method, path } }: PreparedRequest): string =>
  `${method} ${baseUrl}${path.split("?")[0]}`

/** Characters of a failure that an error shows at most: a `fetch` of the caller's own may quote all that it sent. */
const CAUSE_MAX_CHARACTERS = 200

/** What a failure says, with what is behind it: fetch itself says little more than that it failed. */
const wordsOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return `something of type ${typeof cause} was thrown`
  const { cause: reason, message } = cause
  // Where several addresses were tried, Node has a code and no message.
  const behind =
    reason instanceof Error ? ` (${reason.message || (reason as { readonly code?: unknown }).code})` : ""
  return `${message}${behind}`.slice(0, CAUSE_MAX_CHARACTERS)
}

/** The error of an attempt that brought no response. */
const lostAttempt = (request: PreparedRequest, signal: AbortSignal | undefined, cause: unknown): SvcError => {
  const { idempotencyKey, operation } = request
  const unknown = operation.method === "GET" ? "" : ". Whether it was carried out is unknown"
  const repeat = idempotencyKey === undefined ? "" : ": repeat it with the same input and idempotencyKey"
  const to = `to ${placeOf(request)}`
  if (signal?.aborted) {
    const message = `The wait for an answer ${to} was aborted${unknown}${repeat}`
    return new SvcError({ code: "aborted", message, idempotencyKey, cause })
  }
  const isLate = cause instanceof TimeIsOver
  const what = isLate
    ? `No answer ${to}: ${cause.message}`
    : `No whole answer ${to}: ${wordsOf(cause)}. If it is always so, check baseUrl`
  const code = isLate ? "timeout" : "network_error"
  return new SvcError({ code, message: `${what}${unknown}${repeat}`, retryable: true, idempotencyKey, cause })
}

const answerOf = <A>(request: PreparedRequest, response: Response, text: string): A | SvcError => {
  if (response.status !== request.operation.status) return errorOf(request, response, text)
  if (response.status === 204) return undefined as A
  const value = parseObject(text)
  return value === undefined ? errorOf(request, response, text) : (value as A)
}

const attempt = async <A>(
  settings: TransportSettings,
  request: PreparedRequest,
  { signal, timeout = settings.timeout }: RequestOptions
): Promise<A | SvcError> => {
  try {
    return await withTimeLimit(timeout, signal, async (limit) => {
      const url = request.baseUrl + request.operation.path
      const response = await settings.fetch(url, { ...request.init, signal: limit })
      return answerOf<A>(request, response, await response.text())
    })
  } catch (cause) {
    return lostAttempt(request, signal, cause)
  }
}

const OPTION_NAMES: ReadonlySet<string> = new Set([
  "signal",
  "timeout",
  "retries",
  "idempotencyKey"
] satisfies ReadonlyArray<keyof WriteOptions>)

/** Throws `invalid_argument` for an option that there is not; `of` says whose options they are. */
export const refuseUnknownNames = (of: string, options: object, names: ReadonlySet<string>): void => {
  const unknown = Object.keys(options).find((name) => !names.has(name))
  if (unknown !== undefined) {
    throw invalidArgument(`${of} has no option ${JSON.stringify(unknown)}; it takes ${[...names].join(", ")}`)
  }
}

/** A misspelt `idempotencyKey` that was passed over would let an operation happen twice. */
const checkNames = (options: unknown): void => {
  if (typeof options !== "object" || options === null || isThenable(options) || Symbol.iterator in options) {
    const given = isThenable(options) ? "a promise: await it" : `something of type ${typeof options}`
    throw invalidArgument(`the options of a call are an object, and were given as ${given}`)
  }
  refuseUnknownNames("a call", options, OPTION_NAMES)
}

const isAbortSignal = (signal: AbortSignal | null): boolean =>
  typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function"

/** Throws `invalid_argument` for bounds that are none, and for options that there are not. */
export const checkLimits = (options: RequestOptions): void => {
  checkNames(options)
  const { retries = 0, signal, timeout = 1 } = options
  if (signal !== undefined && !isAbortSignal(signal)) {
    throw invalidArgument(
      "signal must be an AbortSignal: the signal of an AbortController, not the controller"
    )
  }
  numberWithin("timeout", timeout, 1, TIMER_MAX_MILLISECONDS)
  numberWithin("retries", retries, 0, Number.MAX_SAFE_INTEGER)
}

/** Makes requests until one is answered for good, the retries are used up, or the caller gives up. */
export const makeTransport =
  (settings: TransportSettings): Transport =>
  async <A>(operation: Operation, options: WriteOptions = {}): Promise<A> => {
    checkLimits(options)
    const { retries = settings.retries, signal } = options
    const request = prepare(operation, settings, options.idempotencyKey)
    if (signal?.aborted) throw abortedBeforehand(signal.reason)
    const abortedBecause = (reason: unknown) => lostAttempt(request, signal, reason)
    return withRetries({ retries, backoff: settings.backoff, signal, abortedBecause }, () =>
      attempt<A>(settings, request, options)
    )
  }
