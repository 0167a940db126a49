/** A service whose API is called by HTTP: in this process, on this machine, or any deployment of the test environment. */
export interface LifecycleTarget {
  /** Base URL of the API. */
  readonly url: string
  /** Key of an organization, with all scopes. Its mandates, authorizations and events are added to. */
  readonly apiKey: string
  /** Approves a mandate as its end user, through the approval page or in any other way. */
  readonly approve: (mandate: { readonly id: string; readonly subject_reference: string }) => Promise<unknown>
  /** Sends the requests. Default: `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>
  /** The clock that the service is on. Without one, time passes by itself, and nothing is tested that waits for it. */
  readonly clock?: {
    readonly now: () => string
    readonly set: (time: string) => Promise<void>
  }
  /** The organization's `report_grace_seconds`. Default: 0. */
  readonly reportGraceSeconds?: number
}

/** An answer of the API. */
export interface ApiAnswer {
  readonly status: number
  readonly isReplay: boolean
  // What it holds is what is tested.
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  readonly body: any
}

/** The target cannot be tested as it is, whatever is asked of it: nothing is to be learnt from another history. */
export class TargetFault extends Error {
  override readonly name = "TargetFault"
}

const UNAUTHORIZED = 401
const TOO_MANY_REQUESTS = 429

/** What a request that got no answer came to: a fault of the target if nothing could be reached. */
const unanswered = (request: Request, cause: unknown): Error => {
  const { cause: reason, message } = Object(cause)
  const words = `${request.method} ${request.url} could not be sent: ${message ?? cause}`
  return cause instanceof TypeError && reason instanceof Error
    ? new TargetFault(`${words}: ${Reflect.get(reason, "code") ?? reason.message}`, { cause })
    : new Error(words, { cause })
}

/** What an answer says of the target itself, whatever was asked. */
const faultIn = (status: number): string | undefined => {
  if (status === UNAUTHORIZED) return "the target does not take its apiKey"
  return status === TOO_MANY_REQUESTS
    ? 'the target limits requests: raise its limits, such as by limits: { rateLimit: "off" }'
    : undefined
}

/** The fault of the target that an error tells of, itself or by its cause. */
const faultBehind = (error: unknown): TargetFault | undefined => {
  if (error instanceof TargetFault) return error
  return error instanceof Error ? faultBehind(error.cause) : undefined
}

/**
 * Runs of a property against a target. Once the target is found to be at fault, those that are still to come do nothing, so that
 * no shorter history is looked for.
 */
export const untilTargetFault = () => {
  let fault: TargetFault | undefined
  return {
    run: async (work: () => Promise<void>): Promise<void> => {
      if (fault !== undefined) return
      try {
        await work()
      } catch (error) {
        fault = faultBehind(error)
        throw error
      }
    },
    fault: () => fault
  }
}

/** The fault of a target as it was found, with the history before it: there is nothing to run again. */
export const faultFound = (error: unknown, fault: TargetFault): Error =>
  error instanceof Error && error !== fault ? new TargetFault(error.message, { cause: fault }) : fault

/** Makes the target of a run, if it is one that is made. */
export const madeTarget = async (
  of: string,
  target: LifecycleTarget | (() => Promise<ClosableTarget>)
): Promise<ClosableTarget> => {
  if (typeof target !== "function") {
    demandTarget(of, target)
    return target
  }
  const made = await (async () => target())().catch((cause: unknown) => {
    if (cause instanceof TargetFault) throw cause
    throw new TargetFault(`${of}: the target could not be made: ${Object(cause).message ?? cause}`, { cause })
  })
  demandTarget(of, made)
  return made
}

/** A target that was made for one run. */
export interface ClosableTarget extends LifecycleTarget {
  readonly close?: () => Promise<void>
}

/** Throws what a target lacks, for whoever has no compiler. */
export const demandTarget = (of: string, target: unknown): void => {
  const { apiKey, approve, clock, fetch: send, url } = Object(target)
  const faults = [
    ...(typeof url === "string" && URL.canParse(url) ? [] : ["url must be the base URL of the API"]),
    ...(typeof apiKey === "string" && apiKey !== "" ? [] : ["apiKey must be the key of an organization"]),
    ...(typeof approve === "function" ? [] : ["approve must be a function that has a mandate approved"]),
    ...(send === undefined || typeof send === "function" ? [] : ["fetch must be a function"]),
    ...(clock === undefined || (typeof clock?.now === "function" && typeof clock?.set === "function")
      ? []
      : ["clock must have the functions now and set"])
  ]
  if (faults.length > 0) throw new TargetFault(`${of}: the target is not complete: ${faults.join("; ")}`)
}

/** Calls the API of a target. A 5xx is an error. */
export const callApi =
  ({ apiKey, fetch: send = fetch, url }: LifecycleTarget) =>
  async (method: string, path: string, body?: object, key?: string): Promise<ApiAnswer> => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(key === undefined ? {} : { "idempotency-key": key })
    }
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const request = new Request(url.replace(/\/$/u, "") + path, init)
    const response = await (async () => send(request))().catch((cause: unknown) => {
      throw unanswered(request, cause)
    })
    const text = await response.text()
    const fault = faultIn(response.status)
    if (fault !== undefined)
      throw new TargetFault(`${method} ${path} is answered ${response.status}: ${fault}`)
    if (response.status >= 500) throw new Error(`${method} ${path} is answered ${response.status}: ${text}`)
    return {
      status: response.status,
      isReplay: response.headers.get("idempotency-replayed") === "true",
      body: text === "" ? undefined : JSON.parse(text)
    }
  }
