import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { SeededRandom } from "./SeededRandom.ts"

/** Says to a receiver in which process an attempt is made: the soak's own, not the product's. */
export const PROCESS_HEADER = "soak-process"

const SLOW_MILLISECONDS = [150, 900] as const
/** Of so many requests the last is closed without an answer, where requests are closed. */
const REQUESTS_PER_UNANSWERED_ONE = 3

/** How a receiver behaves: `dead` answers 500, `flaky` every other time, `closing` ends connections, some unanswered. */
export type Manner = "healthy" | "slow" | "flaky" | "closing" | "dead"

/** One request as it came, whatever was answered. */
export interface SeenRequest {
  /** Path of the endpoint's URL. */
  readonly path: string
  readonly process: number
  /** `Svc-Signature`; empty when there was none, or several. */
  readonly signature: string
  /** A character for each byte. */
  readonly body: string
  /** Status of the answer, once it was handed to the network. */
  status?: number
}

/** Receivers of webhooks at one port of this machine, each at a path of its own. */
export interface WebhookReceiver {
  readonly url: (path: string) => string
  readonly requests: ReadonlyArray<SeenRequest>
  /** Has a path behave so from now on; any other answers 404. */
  readonly behave: (path: string, manner: Manner) => void
  /** Everything behaves well from now on. */
  readonly heal: () => void
  /** Tells the process of the next request that has come (`received`), or has been answered (`answered`), at once. */
  readonly next: (moment: Moment, tell: (process: number) => void) => void
  readonly end: () => Promise<void>
}

export type Moment = "received" | "answered"

const rawBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("latin1")
}

/** The only header line of that name. */
const onlyHeader = ({ headersDistinct }: IncomingMessage, name: string): string => {
  const lines = headersDistinct[name] ?? []
  return lines.length === 1 ? (lines[0] ?? "") : ""
}

/** Starts receivers on a free port. */
export const startWebhookReceiver = async (random: SeededRandom): Promise<WebhookReceiver> => {
  const requests: Array<SeenRequest> = []
  const manners = new Map<string, Manner>()
  const waiting: Record<Moment, Array<(process: number) => void>> = { received: [], answered: [] }
  let isHealed = false

  const tell = (moment: Moment, process: number): void => {
    waiting[moment].shift()?.(process)
  }

  const answer = (seen: SeenRequest, response: ServerResponse, status: number): void => {
    if (response.destroyed) return
    response.writeHead(status, { "content-length": "0", connection: "close" })
    response.end(() => tell("answered", seen.process))
    seen.status = status
  }

  /** Status of the answer; none is to come where the connection is just closed. */
  const statusFor = (manner: Manner): number | undefined => {
    switch (manner) {
      case "healthy":
        return 204
      case "slow":
        return 202
      case "flaky":
        return random.next() < 0.5 ? 200 : 503
      case "dead":
        return 500
      case "closing":
        return random.integer(1, REQUESTS_PER_UNANSWERED_ONE) === 1 ? undefined : 200
    }
  }

  const respond = (seen: SeenRequest, response: ServerResponse): void => {
    const manner = isHealed ? "healthy" : manners.get(seen.path)
    const status = manner === undefined ? 404 : statusFor(manner)
    if (status === undefined) {
      response.destroy()
    } else if (manner === "slow") {
      setTimeout(() => answer(seen, response, status), random.integer(...SLOW_MILLISECONDS))
    } else {
      answer(seen, response, status)
      if (manner === "closing") response.socket?.end()
    }
  }

  const server = createServer((request, response) => {
    response.on("error", () => undefined)
    rawBody(request).then(
      (body) => {
        const seen: SeenRequest = {
          path: request.url ?? "",
          process: Number(onlyHeader(request, PROCESS_HEADER)),
          signature: onlyHeader(request, "svc-signature"),
          body
        }
        requests.push(seen)
        tell("received", seen.process)
        respond(seen, response)
      },
      // A worker was killed before it had sent all of it: that is no request.
      () => response.destroy()
    )
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: (path) => `http://localhost:${port}${path}`,
    requests,
    behave: (path, manner) => void manners.set(path, manner),
    heal: () => {
      isHealed = true
    },
    next: (moment, listener) => void waiting[moment].push(listener),
    end: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
