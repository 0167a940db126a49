import type { SeededRandom } from "./SeededRandom.ts"
import { type FleetServer, pause } from "./ServerFleet.ts"

export type Json = { readonly [name: string]: unknown }

/** One write, as it was sent, and the answer that its client was given: what the auditor holds the tables against. */
export interface AnsweredWrite {
  /** Method and route template. */
  readonly operation: string
  readonly path: Readonly<Record<string, string>>
  readonly key: string
  readonly body: Json
  readonly status: number
  /** The `code` of a problem. */
  readonly code?: string
  /** The `id` of the resource in an answer of success. */
  readonly resource?: string
}

export interface Answer {
  readonly status: number
  readonly replayed: boolean
  /** Whether it says when to try again. */
  readonly hasRetryAfter: boolean
  // The soak reads what the interface documents.
  // biome-ignore lint/suspicious/noExplicitAny: shapes are those of the interface
  readonly body: any
}

/** The path of a route with its parameters put in. */
export const pathOf = (route: string, path: AnsweredWrite["path"]): string =>
  Object.entries(path).reduce((text, [name, value]) => text.replace(`{${name}}`, value), route)

/** What a write came to. */
export const answeredWrite = (
  sent: Pick<AnsweredWrite, "operation" | "path" | "key" | "body">,
  { body, status }: Pick<Answer, "status" | "body">
): AnsweredWrite => ({
  ...sent,
  status,
  ...(status === 200 || status === 201 ? { resource: body.id } : { code: body.code })
})

/** Longest that a request waits for its answer, and longest that a client tries. */
const REQUEST_TIMEOUT_MILLISECONDS = 30_000
const PATIENCE_MILLISECONDS = 180_000
const RETRY_MILLISECONDS = [10, 200] as const

/** What all clients together have seen. */
export interface SoakLog {
  readonly writes: Array<AnsweredWrite>
  readonly faults: Array<string>
  readonly counts: Map<string, number>
}

export const count = ({ counts }: SoakLog, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

export interface RetryingClient {
  readonly write: (
    method: "POST" | "PUT",
    route: string,
    path: Readonly<Record<string, string>>,
    body: Json,
    key: string
  ) => Promise<Answer>
  readonly read: (path: string) => Promise<Answer>
}

/** The status and the whole body, or `undefined` if the connection did not last. */
const exchange = async (url: string, init: RequestInit): Promise<Answer | undefined> => {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MILLISECONDS) })
    return {
      status: response.status,
      replayed: response.headers.get("idempotency-replayed") === "true",
      hasRetryAfter: /^\d+$/u.test(response.headers.get("retry-after") ?? ""),
      body: JSON.parse(await response.text())
    }
  } catch {
    return undefined
  }
}

/** A client that asks any server, and again under the same key until it is answered by something other than 503. */
export const retryingClient = (
  servers: ReadonlyArray<FleetServer>,
  apiKey: string,
  random: SeededRandom,
  log: SoakLog
): RetryingClient => {
  const authorization = `Bearer ${apiKey}`
  const insist = async (path: string, init: RequestInit): Promise<Answer> => {
    const deadline = Date.now() + PATIENCE_MILLISECONDS
    for (;;) {
      const server = random.pick(servers.filter((one) => one.isReady()))
      const answer = server === undefined ? undefined : await exchange(`${server.url}${path}`, init)
      if (answer !== undefined && answer.status !== 503) {
        if (answer.status >= 500) log.faults.push(`${init.method} ${path} was answered ${answer.status}`)
        return answer
      }
      if (answer?.hasRetryAfter === false) log.faults.push(`${init.method} ${path}: 503 without Retry-After`)
      if (server !== undefined) count(log, answer === undefined ? "connections lost" : "answers 503")
      if (Date.now() > deadline) {
        log.faults.push(`${init.method} ${path} was not answered in time`)
        return { status: 0, replayed: false, hasRetryAfter: false, body: {} }
      }
      await pause(random.integer(...RETRY_MILLISECONDS))
    }
  }
  return {
    read: (path) => insist(path, { method: "GET", headers: { authorization } }),
    write: async (method, route, path, body, key) => {
      const answer = await insist(pathOf(route, path), {
        method,
        headers: { authorization, "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify(body)
      })
      log.writes.push(answeredWrite({ operation: `${method} ${route}`, path, key, body }, answer))
      return answer
    }
  }
}
