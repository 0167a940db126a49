import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { listening, type Running } from "./Running.ts"

/** What the agent asks of the service and of the provider. */
export type Exchange = "propose" | "read" | "pay" | "close" | "report"

/** Before a request is handed on, or after it was answered, with the answer still kept back. */
export type Moment = `${"before" | "after"} ${Exchange}`

export interface Interruptions extends Running {
  /** Calls a function when the moment comes, once. The request, or its answer, is handed on when it resolves, lost when it rejects. */
  readonly at: (moment: Moment, run: () => Promise<void>) => void
}

const exchangeOf = ({ method, url = "" }: IncomingMessage): Exchange => {
  if (url.startsWith("/payments/")) return url.endsWith("/close") ? "close" : "pay"
  if (method === "GET") return "read"
  return method === "POST" ? "propose" : "report"
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const chunk of request.setEncoding("utf8")) text += chunk
  return text
}

const handOn = (target: string, { headers, method = "GET", url }: IncomingMessage, body: string) => {
  const { authorization = "", "idempotency-key": key = "" } = headers
  const kept = { authorization, "idempotency-key": String(key), "content-type": "application/json" }
  return fetch(target + url, { method, headers: kept, body: body === "" ? null : body })
}

/** A proxy between the agent and the two that it asks, which can be told to interrupt it. */
export const startInterruptions = async (service: Running, provider: Running): Promise<Interruptions> => {
  const waiting = new Map<Moment, () => Promise<void>>()
  const interrupt = async (moment: Moment): Promise<void> => {
    const run = waiting.get(moment)
    waiting.delete(moment)
    await run?.()
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const exchange = exchangeOf(request)
    const target = exchange === "pay" || exchange === "close" ? provider : service
    const body = await textOf(request)
    await interrupt(`before ${exchange}`)
    const answer = await handOn(target.url, request, body)
    const text = await answer.text()
    await interrupt(`after ${exchange}`)
    const type = answer.headers.get("content-type") ?? "application/json"
    response.writeHead(answer.status, { "content-type": type }).end(text)
  }
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  return { ...(await listening(server)), at: (moment, run) => void waiting.set(moment, run) }
}
