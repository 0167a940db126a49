import {
  type AuthorizationCalls,
  type EventCalls,
  type MandateCalls,
  makeAuthorizations,
  makeEvents,
  makeMandates,
  makePasskeys,
  makeWebhooks,
  type PasskeyCalls,
  readKeySet,
  type WebhookCalls
} from "./ApiCalls.ts"
import type { Authorization } from "./Authorization.ts"
import type { KeySet } from "./Evidence.ts"
import {
  type Execution,
  type ExecutionContext,
  type ExecutionOptions,
  type ExecutionReport,
  makeExecutor,
  type Run,
  type RunOutcome,
  sendReport
} from "./Execution.ts"
import type { Backoff } from "./RetryDelay.ts"
import { invalidArgument, numberWithin } from "./SvcError.ts"
import { isThenable } from "./Thenable.ts"
import { TIMER_MAX_MILLISECONDS } from "./TimeLimit.ts"
import { checkLimits, makeTransport, type RequestOptions, refuseUnknownNames } from "./Transport.ts"

/** Milliseconds for one attempt unless the options say otherwise. */
export const TIMEOUT_DEFAULT_MILLISECONDS = 30_000
/** Attempts after the first unless the options say otherwise. */
export const RETRIES_DEFAULT = 4

/** The waits between attempts unless the options say otherwise. */
export const BACKOFF_DEFAULT: Backoff = { initial: 250, max: 8000 }

/** How a client reaches the service. `retries`, `timeout` and `signal` may also be given with each call. */
export interface ClientOptions {
  /** Address of the API, with its path prefix if it has one: `https://api.example/spending`. */
  readonly baseUrl: string
  /** For servers alone: never in a browser, an app or a prompt of an agent. */
  readonly apiKey: string
  /** Default: the runtime's. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Milliseconds for each attempt, its answer included. Default {@link TIMEOUT_DEFAULT_MILLISECONDS}. */
  readonly timeout?: number
  /** Attempts after the first, where another one may succeed. Default {@link RETRIES_DEFAULT}. */
  readonly retries?: number
  /** Waits between attempts. */
  readonly backoff?: Partial<Backoff>
}

/** The resources of an organization, as typed calls. Every one rejects with an `SvcError`. */
export interface Calls {
  readonly mandates: MandateCalls
  readonly authorizations: AuthorizationCalls
  readonly webhooks: WebhookCalls
  readonly events: EventCalls
  readonly passkeys: PasskeyCalls
}

/** Typed calls, and what executes an authorization by them. */
export interface ExecutingCalls extends Calls {
  /**
   * Executes an authorization: reads it anew, checks every condition of the execution gate, calls `run` once, and reports
   * what it says: commits what was accepted, cancels what was refused, and does neither with anything else, what `run` throws
   * included. Rejects only if `run` was not called, with `execution_not_allowed` for a condition that does not hold.
   *
   * Another client or service, in another process for instance, may run the same authorization: what was begun is kept in
   * memory alone. Give your provider the run's `externalActionReference` as its idempotency key.
   */
  readonly execute: (
    authorization: string | Pick<Authorization, "id">,
    run: (run: Run) => Promise<RunOutcome>,
    options: ExecutionOptions
  ) => Promise<Execution>
  /** Sends a report of `execute` again, as it was. */
  readonly repeatReport: (report: ExecutionReport, options?: RequestOptions) => Promise<Authorization>
}

/** The service, as a caller of its HTTP API sees it. */
export interface Client extends ExecutingCalls {
  /** The keys that evidence is verified with. */
  readonly keySet: (options?: RequestOptions) => Promise<KeySet>
}

/** Calls with `execute`. */
export const withExecution = (calls: Calls, context?: ExecutionContext): ExecutingCalls => {
  const executor = makeExecutor(calls.authorizations, context)
  return {
    ...calls,
    execute: async (authorization, run, options) => executor(idOf(authorization), run, options),
    repeatReport: (report, options) => sendReport(calls.authorizations, report, options)
  }
}

/** The id of what is executed, given by itself or as an authorization. */
const idOf = (given: string | { readonly id: string } | PromiseLike<unknown> | null | undefined): string => {
  const id = typeof given === "object" && given !== null && "id" in given ? given.id : given
  if (typeof id === "string") return id
  throw invalidArgument(
    `execute takes an authorization or its id${isThenable(given) ? ", and was given a promise: await it" : ""}`
  )
}

const normalizedBase = (baseUrl: string): string => {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isPlain = url?.username === "" && url.password === "" && url.search === "" && url.hash === ""
  if (url === undefined || !isPlain || !/^https?:$/.test(url.protocol)) {
    throw invalidArgument("baseUrl must be an http or https address without user, query or fragment")
  }
  return url.href.replace(/\/+$/, "")
}

const CLIENT_OPTION_NAMES: ReadonlySet<string> = new Set([
  "baseUrl",
  "apiKey",
  "fetch",
  "timeout",
  "retries",
  "backoff"
] satisfies ReadonlyArray<keyof ClientOptions>)

const BACKOFF_NAMES: ReadonlySet<string> = new Set(["initial", "max"] satisfies ReadonlyArray<keyof Backoff>)

/** Throws `invalid_argument` unless the options are an object with these names alone. */
const checkObject = (of: string, options: unknown, names: ReadonlySet<string>): void => {
  if (typeof options !== "object" || options === null || isThenable(options)) {
    throw invalidArgument(
      `${of} takes an object with ${[...names].join(", ")}${isThenable(options) ? ": await it" : ""}`
    )
  }
  refuseUnknownNames(of, options, names)
}

/**
 * A client of the HTTP API. Throws `invalid_argument` for options with which nothing can be sent.
 *
 * Every call is retried where that is safe: reads, and writes under their one idempotency key, after a failure that another
 * attempt may mend. A call that fails for good may have been carried out all the same; to go on, repeat it with the same
 * input and the `idempotencyKey` of its error.
 */
export const createClient = (options: ClientOptions): Client => {
  checkObject("createClient", options, CLIENT_OPTION_NAMES)
  const { apiKey, backoff = {}, retries = RETRIES_DEFAULT, timeout = TIMEOUT_DEFAULT_MILLISECONDS } = options
  if (typeof apiKey !== "string" || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw invalidArgument("apiKey must be a text of visible ASCII characters, such as svc_test_...")
  }
  if (options.fetch !== undefined && typeof options.fetch !== "function") {
    throw invalidArgument("fetch must be a function, such as the fetch of the runtime")
  }
  checkObject("backoff", backoff, BACKOFF_NAMES)
  const waits = { ...BACKOFF_DEFAULT, ...backoff }
  checkLimits({ retries, timeout })
  numberWithin("backoff.initial", waits.initial, 0, TIMER_MAX_MILLISECONDS)
  numberWithin("backoff.max", waits.max, 0, TIMER_MAX_MILLISECONDS)
  const send = makeTransport({
    baseUrl: normalizedBase(options.baseUrl),
    apiKey,
    // Looked up with each call, and called without a receiver: some runtimes insist on that.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timeout,
    retries,
    backoff: waits
  })
  const calls = withExecution({
    mandates: makeMandates(send),
    authorizations: makeAuthorizations(send),
    webhooks: makeWebhooks(send),
    events: makeEvents(send),
    passkeys: makePasskeys(send)
  })
  return { ...calls, keySet: (requestOptions) => readKeySet(send, requestOptions) }
}
