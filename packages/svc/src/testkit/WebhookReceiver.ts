import type { WebhookEvent } from "@svc/client/resources"
import { SecretSealer, webhookSecretContext } from "@svc/domain/ports/SecretSealer"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { TargetRefused, WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { readTarget } from "@svc/domain/webhook/WebhookTarget"
import { formatInstant, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { verifyWebhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { Effect, Layer, Redacted, Result } from "effect"

/** One attempt of a delivery, its signature verified. */
export interface ReceivedWebhook {
  /** Of the endpoint that it was sent to. */
  readonly url: string
  /** By lower-case name, as they were sent. */
  readonly headers: Readonly<Record<string, string>>
  /** The bytes that are signed, as text. */
  readonly body: string
  readonly event: WebhookEvent
  /** The time on the service's clock. */
  readonly receivedAt: string
  /** The status that it was answered with. */
  readonly status: number
}

/** Answers a webhook in the place of the endpoints' receivers: a handler of web-standard requests. */
export type Receive = (request: Request) => Response | Promise<Response>

const NO_CONTENT = 204
const BAD_GATEWAY = 502

/** Everything that arrived at any endpoint, in its order. Nothing leaves the process. */
export const makeInbox = (receive: Receive | undefined) => {
  const received: Array<ReceivedWebhook> = []
  const faults: Array<Error> = []

  /** A receiver that throws is one that cannot be reached. */
  const statusOf = async (request: Request): Promise<number> => {
    if (receive === undefined) return NO_CONTENT
    try {
      return (await receive(request)).status
    } catch (cause) {
      faults.push(new Error(`the receiver of webhooks threw: ${String(cause)}`, { cause }))
      return BAD_GATEWAY
    }
  }
  const take = async (
    webhook: Pick<ReceivedWebhook, "url" | "headers" | "body" | "receivedAt">,
    isVerified: boolean
  ): Promise<number> => {
    if (!isVerified) faults.push(new Error(`a webhook to ${webhook.url} is not signed with its secret`))
    const { body, headers, url } = webhook
    const status = await statusOf(new Request(url, { method: "POST", headers, body }))
    received.push({ ...webhook, event: JSON.parse(body), status })
    return status
  }
  return {
    take,
    /** Everything so far; throws what went wrong since it was asked for last. */
    all: (): ReadonlyArray<ReceivedWebhook> => {
      const [fault] = faults.splice(0)
      if (fault !== undefined) throw fault
      return [...received]
    }
  }
}

export type Inbox = ReturnType<typeof makeInbox>

/** The secrets of every endpoint of these organizations with that address. */
const secretsOf = Effect.fnUntraced(function* (organizations: Iterable<string>, url: string) {
  const store = yield* WebhookStore
  const sealer = yield* SecretSealer
  const secrets: Array<string> = []
  for (const organization of organizations) {
    for (const { endpoint } of yield* store.listEndpoints(organization)) {
      if (endpoint.url !== url) continue
      const context = webhookSecretContext(endpoint, endpoint.secretVersion)
      secrets.push(Redacted.value(yield* sealer.open(context, endpoint.sealedSecret)))
    }
  }
  return secrets
})

/** Carries webhooks to an inbox within the process. Names are not resolved; the form of an address is checked as ever. */
export const inboxTransport = (options: {
  readonly inbox: Inbox
  readonly read: () => Instant
  readonly organizations: () => Iterable<string>
}): Layer.Layer<WebhookTransport, never, WebhookStore | SecretSealer> => {
  const { inbox, organizations, read } = options
  return Layer.effect(
    WebhookTransport,
    Effect.gen(function* () {
      const context = yield* Effect.context<WebhookStore | SecretSealer>()
      return WebhookTransport.of({
        check: (url) => {
          const target = readTarget(url, { loopbackAllowed: true })
          return Result.isSuccess(target)
            ? Effect.void
            : Effect.fail(new TargetRefused({ reason: "form", form: target.failure }))
        },
        deliver: ({ body, headers, url }) =>
          secretsOf(organizations(), url).pipe(
            Effect.provideContext(context),
            Effect.orDie,
            Effect.flatMap((secrets) => {
              const now = Number(read() / NANOS_PER_SECOND)
              const header = headers["svc-signature"] ?? ""
              const isVerified = secrets.some((secret) =>
                Result.isSuccess(verifyWebhookSignature({ secret, header, body, now }))
              )
              const text = new TextDecoder().decode(body)
              const webhook = { url, headers, body: text, receivedAt: formatInstant(read()) }
              return Effect.promise(() => inbox.take(webhook, isVerified))
            }),
            Effect.map((status) => ({ status, durationMs: 0 }))
          )
      })
    })
  )
}
