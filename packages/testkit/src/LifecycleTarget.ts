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
    const response = await send(new Request(url.replace(/\/$/u, "") + path, init))
    const text = await response.text()
    if (response.status >= 500) throw new Error(`${method} ${path} is answered ${response.status}: ${text}`)
    return {
      status: response.status,
      isReplay: response.headers.get("idempotency-replayed") === "true",
      body: text === "" ? undefined : JSON.parse(text)
    }
  }
