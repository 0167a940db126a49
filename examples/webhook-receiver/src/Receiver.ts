/** A receiver of webhooks on `node:http`, without dependencies. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { signatureFault } from "./VerifyWebhook.ts"

/** The body of a webhook. It is a trigger, never the proof: it says what to read, not what is so. */
export interface WebhookEvent {
  readonly id: string
  readonly type: string
  readonly occurred_at: string
  readonly data: {
    readonly mandate_id: string
    readonly authorization_id?: string
    readonly state?: string
    readonly version: number
  }
}

/** A mandate or an authorization, as the interface documents them. */
export interface CurrentState {
  readonly id: string
  readonly state: string
  readonly version?: number
}

/** A webhook that cannot be trusted: neither of its parts may be acted on. */
export interface RefusedWebhook {
  readonly why: string
  readonly signature: string
  readonly body: Buffer
}

export interface ReceiverOptions {
  readonly secret: () => string
  /** Where the current state is read, and the API key to read it with. */
  readonly api: { readonly baseUrl: string; readonly apiKey: string }
  /** What is done about an event, a test event excepted: once per event. */
  readonly onState: (event: WebhookEvent, current: CurrentState) => void | Promise<void>
  /** Told of an event that was sent to try the endpoint: it names no mandate to read. */
  readonly onTest?: (event: WebhookEvent) => void
  /** Told of a webhook that is refused, and why. */
  readonly onRefusal?: (refused: RefusedWebhook) => void
  /** Told when that failed; the webhook was answered by then. */
  readonly onFailure: (event: WebhookEvent, error: unknown) => void
}

/** The type of what POST /v1/webhook-endpoints/{webhook_endpoint_id}/test sends. */
const TEST_EVENT = "endpoint.test"

/** No webhook comes near it. */
const MAX_BODY_BYTES = 65_536

/** Deliveries may repeat an event for a day. A real receiver keeps the ids in its database, under a unique key. */
const REMEMBERED_EVENTS = 10_000

const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** What is true now. */
const readCurrent = async (api: ReceiverOptions["api"], { data }: WebhookEvent): Promise<CurrentState> => {
  const path =
    data.authorization_id === undefined
      ? `/v1/mandates/${data.mandate_id}`
      : `/v1/authorizations/${data.authorization_id}`
  const response = await fetch(api.baseUrl + path, {
    headers: { authorization: `Bearer ${api.apiKey}` },
    redirect: "error"
  })
  if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}`)
  return (await response.json()) as CurrentState
}

/** Remembers the newest identifiers, and says whether one is new. */
const makeMemory = (): ((id: string) => boolean) => {
  const seen = new Set<string>()
  return (id) => {
    if (seen.has(id)) return false
    seen.add(id)
    const [oldest] = seen
    if (seen.size > REMEMBERED_EVENTS && oldest !== undefined) seen.delete(oldest)
    return true
  }
}

/** A receiver that does not listen yet. */
export const makeReceiver = (options: ReceiverOptions): Server => {
  const { api, onFailure, onRefusal, onState, onTest, secret } = options
  const isNew = makeMemory()

  const act = async (event: WebhookEvent): Promise<void> => {
    try {
      if (event.type === TEST_EVENT) onTest?.(event)
      else await onState(event, await readCurrent(api, event))
    } catch (error) {
      onFailure(event, error)
    }
  }

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end()
    const body = await readBody(request)
    if (body === undefined) return void response.writeHead(413, { connection: "close" }).end()
    const signature = String(request.headers["svc-signature"] ?? "")
    const why = signatureFault({ secret: secret(), signature, body })
    if (why !== undefined) {
      response.writeHead(401).end()
      onRefusal?.({ why, signature, body })
      return
    }
    const event = JSON.parse(body.toString("utf8")) as WebhookEvent
    // Answered before anything else is done: what takes longer than 15 s counts as failed. Keep the event first, in a
    // table or a queue, if it must not be lost with this process.
    response.writeHead(204).end()
    if (isNew(event.id)) await act(event)
  }

  return createServer((request, response) => {
    receive(request, response).catch(() => response.destroy())
  })
}
