/** A receiver of webhooks on `node:http`, without dependencies. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { signatureFault } from "./VerifyWebhook.ts"

/** The body of a webhook. It says which resource to read, and proves nothing about its state. */
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

/** A webhook that must not be acted on. */
export interface RefusedWebhook {
  readonly why: string
  readonly signature: string
  readonly body: Buffer
}

export interface ReceiverOptions {
  readonly secret: () => string
  /** The API that the current state is read from, and its API key. */
  readonly api: { readonly baseUrl: string; readonly apiKey: string }
  /** Handles an event, once; not called for test events. */
  readonly onState: (event: WebhookEvent, current: CurrentState) => void | Promise<void>
  /** Called for a test event, which names no mandate. */
  readonly onTest?: (event: WebhookEvent) => void
  /** Called for a refused webhook, with the reason. */
  readonly onRefusal?: (refused: RefusedWebhook) => void
  /** Called when handling failed, after the webhook was answered. */
  readonly onFailure: (event: WebhookEvent, error: unknown) => void
}

/** The type of the event that POST /v1/webhook-endpoints/{webhook_endpoint_id}/test sends. */
const TEST_EVENT = "endpoint.test"

/** Far above the size of any webhook, in bytes. */
const MAX_BODY_BYTES = 65_536

/** Delivery is at least once, and may repeat an event for a day. A real receiver keeps the ids in a table with a unique key. */
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

/** Reads the current state. */
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

/** Deduplicates by identifier, among the latest ones. */
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

/** Creates the server, which does not listen yet. */
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
    // Answered first, since an attempt fails after 15 s. Store the event in a table or a queue before that if it must not be
    // lost with this process.
    response.writeHead(204).end()
    if (isNew(event.id)) await act(event)
  }

  return createServer((request, response) => {
    receive(request, response).catch(() => response.destroy())
  })
}
