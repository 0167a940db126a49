import type { Authorization, CancellationInput, CommitInput } from "./Authorization.ts"
import { callerWork } from "./CallerWork.ts"
import { commitmentOf } from "./Commitment.ts"
import { passGate } from "./ExecutionGate.ts"
import { invalidArgument, numberWithin, SvcError } from "./SvcError.ts"
import { TIMER_MAX_MILLISECONDS, TimeIsOver, withTimeLimit } from "./TimeLimit.ts"
import { checkLimits, type RequestOptions, refuseUnknownNames, type WriteOptions } from "./Transport.ts"

/** What `run` found out at the provider. */
export type RunOutcome =
  /** The provider definitely accepted the action. */
  | {
      readonly outcome: "accepted"
      readonly provider_transaction_reference: string
      /** Default: the moment at which `run` said so, by the clock of this process, but never before the authorization was made. */
      readonly reported_accepted_at?: string
    }
  /** The provider definitely did not accept the action, and it can no longer happen. */
  | ({ readonly outcome: "refused" } & CancellationInput)
  /** Anything else: pending, or unknown. */
  | { readonly outcome: "uncertain" }

/** What `run` is given. */
export interface Run {
  /** As the service has it now. Ask your provider for its `proposed_action`, and for nothing else. */
  readonly authorization: Authorization
  /** Give it to your provider as its idempotency key, so that it never acts twice. */
  readonly externalActionReference: string
  /** Aborted at `execute_before`, after `runTimeout`, and with the caller's signal. Nothing may act after that. */
  readonly signal: AbortSignal
}

/** A report that the service may not have, as it was sent. Plain JSON: it can be kept, and sent again with `repeatReport`. */
export type ExecutionReport =
  | {
      readonly kind: "commit"
      readonly authorizationId: string
      readonly input: CommitInput
      readonly idempotencyKey: string
    }
  | {
      readonly kind: "cancel"
      readonly authorizationId: string
      readonly input: CancellationInput
      readonly idempotencyKey: string
    }

/**
 * Why an outcome is uncertain:
 *
 * - `run_failed`: `run` threw.
 * - `run_timed_out`: `run` took longer than `runTimeout`, and may still be under way.
 * - `run_uncertain`: `run` said so, or returned what is no outcome.
 * - `report_unanswered`: the outcome is certain, and whether the service has its report is not.
 * - `report_refused`: the outcome is certain, and the service refused its report. With `terminal_state_conflict` an incident.
 */
export type UncertainBecause =
  | "run_failed"
  | "run_timed_out"
  | "run_uncertain"
  | "report_unanswered"
  | "report_refused"

/** How to find out, and to settle, what became of an execution. */
export interface Reconciliation {
  readonly because: UncertainBecause
  /** What to do, in words. */
  readonly steps: string
  /** What your provider knows the action by. */
  readonly externalActionReference: string
  /** With `report_unanswered` and `report_refused`. */
  readonly report?: ExecutionReport
  /** What `run` threw, or how the report was answered. */
  readonly cause?: unknown
}

/** What became of an execution. */
export type Execution =
  | { readonly outcome: "committed"; readonly authorization: Authorization }
  | { readonly outcome: "cancelled"; readonly authorization: Authorization }
  /** Nothing more was done, and nothing will be. `authorization` is as it was before the run. */
  | {
      readonly outcome: "uncertain"
      readonly authorization: Authorization
      readonly reconciliation: Reconciliation
    }

/** How an authorization is executed. */
export interface ExecutionOptions extends RequestOptions {
  /**
   * The opening of the authorization's commitment, or what fetches it from where it was stored, which `signal` and `timeout`
   * bound, too.
   */
  readonly opening: string | (() => string | Promise<string>)
  /** What your provider knows the action by. Default: the id of the authorization, which is the same however often you ask. */
  readonly externalActionReference?: string
  /** Most milliseconds that `run` may take. Default: it is waited for; its signal is aborted at `execute_before` all the same. */
  readonly runTimeout?: number
}

/** The operations of the API that an execution needs. */
export interface ExecutionCalls {
  readonly get: (id: string, options?: RequestOptions) => Promise<Authorization>
  readonly commit: (id: string, input: CommitInput, options?: WriteOptions) => Promise<Authorization>
  readonly cancel: (id: string, input: CancellationInput, options?: WriteOptions) => Promise<Authorization>
}

const STEPS: Readonly<Record<UncertainBecause, string>> = {
  run_failed:
    "Run nothing again. Ask your provider what became of externalActionReference. If it definitely accepted the action, commit the authorization; if it definitely did not and no longer can, cancel it; while that is open, do neither.",
  run_timed_out:
    "The run may still be under way: make sure that it has ended. Then ask your provider what became of externalActionReference. If it definitely accepted the action, commit the authorization; if it definitely did not and no longer can, cancel it; while that is open, do neither.",
  run_uncertain:
    "Run nothing again. Ask your provider again later what became of externalActionReference. If it definitely accepted the action, commit the authorization; if it definitely did not and no longer can, cancel it; while that is open, do neither.",
  report_unanswered:
    "The outcome at your provider is certain. Keep report and send it again, unchanged, with repeatReport, until it is answered.",
  report_refused:
    "The outcome at your provider is certain, and the service refused its report; cause says why. With terminal_state_conflict it has another outcome on record: an incident, so stop, read the authorization, and settle the difference with your provider. Otherwise put right what cause names, then send report again with repeatReport."
}

/** Sends a report again as it was. */
export const sendReport = (
  calls: ExecutionCalls,
  report: ExecutionReport,
  options: RequestOptions = {}
): Promise<Authorization> => {
  const { authorizationId, idempotencyKey } = report
  return report.kind === "commit"
    ? calls.commit(authorizationId, report.input, { ...options, idempotencyKey })
    : calls.cancel(authorizationId, report.input, { ...options, idempotencyKey })
}

interface Started {
  readonly authorization: Authorization
  readonly opening: string
  readonly externalActionReference: string
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
}

const uncertain = (
  { authorization, externalActionReference }: Started,
  because: UncertainBecause,
  more: Pick<Reconciliation, "report" | "cause"> = {}
): Execution => ({
  outcome: "uncertain",
  authorization,
  reconciliation: { because, steps: STEPS[because], externalActionReference, ...more }
})

/**
 * When `run` said that the action is accepted. This process asked for the authorization before, so a clock here that is behind
 * the service's, or that counts in milliseconds, must not make it look as if the action had come first.
 */
const acceptedNow = ({ authorization: { created_at }, now }: Started): string => {
  const time = now()
  return time <= Date.parse(created_at) ? created_at : new Date(time).toISOString()
}

/** The report of a definite outcome; `undefined` for everything else. */
const reportOf = (started: Started, result: RunOutcome): ExecutionReport | undefined => {
  const shared = { authorizationId: started.authorization.id, idempotencyKey: crypto.randomUUID() }
  if (result?.outcome === "accepted") {
    const input: CommitInput = {
      external_action_reference: started.externalActionReference,
      provider_transaction_reference: result.provider_transaction_reference,
      reported_accepted_at: result.reported_accepted_at ?? acceptedNow(started),
      commitment_opening: started.opening
    }
    return { ...shared, kind: "commit", input }
  }
  if (result?.outcome === "refused") {
    const { outcome: _, ...input } = result
    return { ...shared, kind: "cancel", input }
  }
  return undefined
}

const isRefusal = (cause: unknown): boolean => cause instanceof SvcError && !mayHaveArrived(cause)

const mayHaveArrived = ({ code, retryable }: SvcError): boolean =>
  retryable || ["aborted", "unexpected_response", "store_unavailable"].includes(code)

const settle = async (
  calls: ExecutionCalls,
  started: Started,
  result: RunOutcome,
  { retries, timeout }: RequestOptions
): Promise<Execution> => {
  const report = reportOf(started, result)
  if (report === undefined) return uncertain(started, "run_uncertain")
  try {
    // Without the caller's signal: what happened is reported, whoever has lost interest.
    const authorization = await sendReport(calls, report, { retries, timeout })
    return { outcome: report.kind === "commit" ? "committed" : "cancelled", authorization }
  } catch (cause) {
    return uncertain(started, isRefusal(cause) ? "report_refused" : "report_unanswered", { report, cause })
  }
}

/** Runs once, with a signal that ends at the deadline. `RunTimedOut` when the caller set a time, and it is over. */
const runUntil = async (
  run: (run: Run) => Promise<RunOutcome>,
  started: Started,
  deadline: number,
  { runTimeout, signal }: ExecutionOptions
): Promise<RunOutcome> => {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  const timer = setTimeout(
    () => controller.abort(new TimeIsOver("execute_before has come")),
    Math.min(deadline - started.now(), TIMER_MAX_MILLISECONDS)
  )
  signal?.addEventListener("abort", abort, { once: true })
  const { authorization, externalActionReference } = started
  const call = async () => run({ authorization, externalActionReference, signal: controller.signal })
  try {
    if (runTimeout === undefined) return await call()
    return await withTimeLimit(runTimeout, undefined, (limit) => {
      limit.addEventListener("abort", () => controller.abort(limit.reason), { once: true })
      return call()
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", abort)
  }
}

/** Longest reference that a commit takes, in characters. */
const MAX_REFERENCE_CHARACTERS = 255

/** Whether a text is Unicode that JSON carries, without U+0000. */
const isWellFormed = (text: string): boolean => {
  try {
    encodeURIComponent(text)
    return !text.includes("\0")
  } catch {
    return false
  }
}

const OPTIONS: ReadonlySet<string> = new Set([
  "opening",
  "externalActionReference",
  "runTimeout",
  "signal",
  "timeout",
  "retries"
] satisfies ReadonlyArray<keyof ExecutionOptions>)

const checkOptions = (options: unknown): void => {
  if (typeof options !== "object" || options === null) {
    throw invalidArgument("execute takes options, of which opening is the opening of the commitment")
  }
  refuseUnknownNames("execute", options, OPTIONS)
}

/** What would be found out only when something has been executed. */
const checkExecution = (run: unknown, options: ExecutionOptions): void => {
  checkOptions(options)
  const { externalActionReference: reference, opening: _, runTimeout = 1, ...limits } = options
  checkLimits(limits)
  numberWithin("runTimeout", runTimeout, 1, TIMER_MAX_MILLISECONDS)
  if (typeof run !== "function") throw invalidArgument("run must be a function")
  const isReference =
    typeof reference === "string" &&
    reference !== "" &&
    [...reference].length <= MAX_REFERENCE_CHARACTERS &&
    isWellFormed(reference)
  if (reference !== undefined && !isReference) {
    throw invalidArgument(
      `externalActionReference must be 1 to ${MAX_REFERENCE_CHARACTERS} characters of well-formed Unicode without U+0000`
    )
  }
}

/** Executions that are kept in mind without looking whether they are over. */
const SWEPT_FROM = 1024

/** The authorizations that were run, each until its `execute_before` has passed. */
export interface BegunExecutions {
  readonly has: (id: string) => boolean
  /** Keeps one in mind until an instant. */
  readonly add: (id: string, until: number, now: number) => void
}

/** Looks for those that are over when there are twice as many as the last time, so that each is looked at a few times. */
export const makeBegunExecutions = (): BegunExecutions => {
  const untilOf = new Map<string, number>()
  let swept = SWEPT_FROM
  const sweep = (now: number): void => {
    for (const [id, until] of untilOf) if (until <= now) untilOf.delete(id)
    swept = Math.max(SWEPT_FROM, 2 * untilOf.size)
  }
  return {
    has: (id) => untilOf.has(id),
    add: (id, until, now) => {
      if (untilOf.size >= swept) sweep(now)
      untilOf.set(id, until)
    }
  }
}

/** What an executor has beside its calls. */
export interface ExecutionContext {
  /** The time, in milliseconds since 1970. Default: the host's clock. */
  readonly now?: () => number
  /** The authorizations that were run. Executors that share it share what they know. */
  readonly begun?: BegunExecutions
}

/** Makes an executor. It keeps in mind what it has run until `execute_before` has passed, so that within it nothing runs twice. */
export const makeExecutor = (
  calls: ExecutionCalls,
  { begun = makeBegunExecutions(), now = Date.now }: ExecutionContext = {}
) => {
  const begin = (id: string, deadline: number): void => {
    if (begun.has(id)) {
      const message = `${id} was run by this client before; reconcile that run instead`
      throw new SvcError({ code: "execution_repeated", message, resourceId: id })
    }
    begun.add(id, deadline, now())
  }

  return async (
    id: string,
    run: (run: Run) => Promise<RunOutcome>,
    options: ExecutionOptions
  ): Promise<Execution> => {
    checkExecution(run, options)
    const { retries, signal, timeout } = options
    const given = options.opening
    const opening =
      typeof given === "function" ? await callerWork("opening", given, { signal, timeout }) : given
    const commitment = await commitmentOf(opening)
    const authorization = await calls.get(id, { retries, signal, timeout })
    const deadline = passGate(authorization, { id, commitment, now: now() })
    if (options.signal?.aborted) {
      const message = "the execution was aborted before it began"
      throw new SvcError({ code: "aborted", message, cause: options.signal.reason })
    }
    begin(id, deadline)
    const { externalActionReference = id } = options
    const started = { authorization, opening, externalActionReference, now }
    try {
      // Kept in mind whatever comes of it: a read that began before the commit may be answered after it.
      return await settle(calls, started, await runUntil(run, started, deadline, options), options)
    } catch (cause) {
      const isTimeout = options.runTimeout !== undefined && cause instanceof TimeIsOver
      return uncertain(started, isTimeout ? "run_timed_out" : "run_failed", { cause })
    }
  }
}
