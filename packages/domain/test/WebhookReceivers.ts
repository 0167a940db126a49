/** Receivers of webhooks that answer as a test says, without a network, and remember what they got. */
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { verifyWebhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { harnessOrganization, makeCaller } from "@svc/testkit/ProgramHarness"
import { Clock, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { TargetRefused, WebhookTransport } from "../src/ports/WebhookTransport.ts"
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  reactivateWebhookEndpoint,
  rotateWebhookSecret
} from "../src/programs/WebhookEndpoints.ts"
import type { AttemptResult } from "../src/webhook/WebhookDelivery.ts"
import { attemptDueDeliveries } from "../src/workers/WebhookWorker.ts"

export interface Received {
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** By the receiver's clock, in milliseconds. */
  readonly at: number
}

export interface Receivers {
  readonly received: Array<Received>
  /** What the next attempts come to. Default: 204. */
  answer: (attempt: { readonly url: string; readonly number: number }) => Effect.Effect<AttemptResult>
}

export const ARRIVED: AttemptResult = { status: 204, durationMs: 5 }
export const FAILED: AttemptResult = { status: 500, durationMs: 5 }

/** Targets on `.invalid` are not allowed. */
const isAllowed = (url: string): boolean => URL.parse(url)?.hostname.endsWith(".invalid") === false

export const makeReceivers = () => {
  const receivers: Receivers = { received: [], answer: () => Effect.succeed(ARRIVED) }
  const layer = Layer.succeed(
    WebhookTransport,
    WebhookTransport.of({
      check: (url) =>
        isAllowed(url) ? Effect.void : Effect.fail(new TargetRefused({ reason: "form", form: "host" })),
      deliver: ({ body, headers, url }) =>
        Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          receivers.received.push({ url, body: new TextDecoder().decode(body), headers, at })
          return yield* receivers.answer({ url, number: receivers.received.length })
        })
    })
  )
  return { receivers, layer }
}

/** Whether a receiver with this secret takes it for ours. */
export const isAuthentic = (secret: string, { at, body, headers }: Received): boolean =>
  Result.isSuccess(
    verifyWebhookSignature({
      secret,
      header: headers["svc-signature"] ?? "",
      body: new TextEncoder().encode(body),
      now: Math.floor(at / 1000)
    })
  )

/** Attempts what is due while the clock goes on; gives the number of attempts. */
export const attempted = Effect.gen(function* () {
  const attempts = yield* Effect.forkChild(attemptDueDeliveries, { startImmediately: true })
  while (attempts.pollUnsafe() === undefined) yield* TestClock.adjust("5 millis")
  return yield* Fiber.join(attempts)
})

let keys = 0

/** A caller with webhook endpoints. An idempotency key is drawn unless one is given; `""` is none. */
export const webhookCaller = (id = "org_01jdxxxxxxxxxxxxxxxxxxxxxx") => {
  const organization = harnessOrganization({ id })
  const write = (body: JsonValue, key = `webhook ${++keys}`) => ({
    organization,
    idempotencyKey: key.replaceAll(" ", "-"),
    body
  })
  return {
    ...makeCaller(organization),
    organization,
    writeOf: write,
    register: (parts: JsonObject = {}, key?: string) =>
      createWebhookEndpoint(write({ url: "https://hooks.example/svc", ...parts }, key)),
    rotate: (endpointId: string, key = "") => rotateWebhookSecret({ ...write({}, key), endpointId }),
    reactivate: (endpointId: string, key = "") =>
      reactivateWebhookEndpoint({ ...write({}, key), endpointId }),
    remove: (endpointId: string, key = "") => deleteWebhookEndpoint({ ...write({}, key), endpointId })
  }
}
