import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import { webhookHeaders } from "@svc/protocol/webhook/WebhookHeaders"
import { Effect, ManagedRuntime } from "effect"

export const SECRET = `svc_wh_${Buffer.alloc(32, 7).toString("base64url")}`

/** Signs and posts with the client that the service delivers with; fails when the answer is no 2xx. */
export const signedPost = (): ((url: string, text: string) => Promise<void>) => {
  const runtime = ManagedRuntime.make(WebhookTransportHttp.layer({ loopbackAllowed: true }))
  return (url, text) => {
    const body = new TextEncoder().encode(text)
    const timestamp = Math.floor(Date.now() / 1000)
    return runtime.runPromise(
      Effect.gen(function* () {
        const transport = yield* WebhookTransport
        const { status = 0 } = yield* transport.deliver({
          url,
          headers: webhookHeaders({ secret: SECRET, timestamp, body }),
          body
        })
        if (status < 200 || status > 299) return yield* Effect.die(new Error(`answered ${status}`))
      })
    )
  }
}
