import type { ClientOptions } from "@svc/client"
import * as fc from "fast-check"

type Fetch = NonNullable<ClientOptions["fetch"]>

/**
 * What a connection does to one request:
 *
 * - `lost`: it breaks, `before` the server has the request or `after` the server has acted.
 * - `silent`: no answer comes, until the client gives up.
 * - `late`: it breaks, and the request reaches the server all the same, so many requests later.
 * - `twice`: the server is sent it twice at a time.
 * - `cut`, `broken`: the answer ends early, in order or with an error.
 * - `gateway`, `unavailable`: somebody else answers.
 */
export type Fault =
  | { readonly kind: "none" | "cut" | "broken" | "unavailable" }
  | { readonly kind: "lost" | "silent" | "gateway"; readonly moment: "before" | "after" }
  | { readonly kind: "late"; readonly after: number }
  | { readonly kind: "twice"; readonly answer: 0 | 1 }

const moment = fc.constantFrom("before" as const, "after" as const)

/** A silent connection costs the time of an attempt, so there are few of them. */
export const fault: fc.Arbitrary<Fault> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom("none" as const, "cut", "broken", "unavailable") })
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom("lost" as const, "gateway"), moment }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("silent" as const), moment }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("late" as const), after: fc.integer({ min: 1, max: 6 }) })
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("twice" as const), answer: fc.constantFrom(0 as const, 1) })
  }
)

const gatewayPage = () => new Response("<html>Bad gateway</html>", { status: 502 })

const unavailable = () =>
  new Response(
    JSON.stringify({
      status: 503,
      code: "store_unavailable",
      title: "Unavailable",
      detail: "x",
      retryable: true
    }),
    { status: 503, headers: { "content-type": "application/problem+json", "retry-after": "0" } }
  )

const lose = (): never => {
  throw new TypeError("fetch failed")
}

const untilAborted = (signal: AbortSignal | null | undefined): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true })
    if (signal?.aborted) reject(signal.reason)
  })

/** The first half of a body, then its end, or an error in place of it. */
const halved = async (response: Response, ending: "cut" | "broken"): Promise<Response> => {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(bytes.subarray(0, bytes.length / 2))
      if (ending === "cut") controller.close()
    },
    pull: (controller) => controller.error(new TypeError("terminated"))
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

export interface FaultyConnection {
  readonly fetch: Fetch
  /** Lets everything that is still on its way arrive. */
  readonly settle: () => Promise<void>
}

/** A connection with these faults, one for each request in turn, and none once they are used up. */
export const faultyConnection = (
  faults: ReadonlyArray<Fault>,
  onRequest: (url: string, init: RequestInit) => void
): FaultyConnection => {
  const held: Array<{ readonly due: number; readonly send: () => void }> = []
  const underWay: Array<Promise<unknown>> = []
  let requests = 0

  /** Reaches the server whatever becomes of the client's attempt. */
  const reach = async (url: string, init: RequestInit): Promise<Response> => {
    const { signal: _, ...detached } = init
    const answer = fetch(url, detached).then(async (response) => {
      const { headers, status } = response
      const text = await response.text()
      return new Response(status === 204 ? null : text, { status, headers })
    })
    underWay.push(answer.catch(() => undefined))
    return answer
  }

  const release = (now: number): void => {
    for (const { send } of held.filter(({ due }) => due <= now)) send()
    held.splice(0, held.length, ...held.filter(({ due }) => due > now))
  }

  const pass = async (fault: Fault, url: string, init: RequestInit): Promise<Response> => {
    if ("moment" in fault && fault.moment === "after") await reach(url, init)
    switch (fault.kind) {
      case "none":
        return reach(url, init)
      case "cut":
      case "broken":
        return halved(await reach(url, init), fault.kind)
      case "unavailable":
        return unavailable()
      case "gateway":
        return gatewayPage()
      case "lost":
        return lose()
      case "silent":
        return untilAborted(init.signal)
      case "late":
        held.push({ due: requests + fault.after, send: () => void reach(url, init) })
        return lose()
      case "twice":
        return (await Promise.all([reach(url, init), reach(url, init)]))[fault.answer]
    }
  }

  return {
    fetch: async (url, init) => {
      onRequest(url, init)
      const fault = faults[requests] ?? { kind: "none" }
      requests += 1
      release(requests)
      return pass(fault, url, init)
    },
    settle: async () => {
      release(Number.POSITIVE_INFINITY)
      await Promise.all(underWay)
    }
  }
}
