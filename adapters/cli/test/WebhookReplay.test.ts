import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { makeReceiver, type WebhookEvent } from "@svc/example-webhook-receiver/Receiver"
import { isAuthentic } from "@svc/example-webhook-receiver/VerifyWebhook"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { verifyWebhookSignature, webhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { ConfigProvider, Console, Effect, Layer, Result } from "effect"
import { afterEach, vi } from "vitest"
import { svc } from "../src/command/SvcCommand.ts"
import { StandardInput } from "../src/command/WebhookCommands.ts"
import type { CheckFailed } from "../src/start/RunCommand.ts"
import type { StartFault } from "../src/start/StartFault.ts"
import {
  awaited,
  endpointsOf,
  eventually,
  TEST_TIMEOUT_MS,
  toldReceiver,
  type Webhook
} from "./DeliveringService.ts"
import { bodyOf, startService } from "./ServiceUnderTest.ts"

/** How far `t` may be from the receiver's clock, in seconds. */
const TOLERANCE = 300

const MILLISECONDS_PER_SECOND = 1000

afterEach(() => {
  vi.useRealTimers()
})

/** What a receiver may be sent: bytes and a signature. */
type Sent = Pick<Webhook, "body" | "signature">

const timestampOf = ({ signature }: Sent): number => Number(/^t=(\d+),/u.exec(signature)![1])

/** Runs at so many seconds after the webhook was signed, by every clock of this process. */
const secondsAfter = <A, E, R>(sent: Sent, seconds: number, run: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() =>
      vi.useFakeTimers({ toFake: ["Date"], now: (timestampOf(sent) + seconds) * MILLISECONDS_PER_SECOND })
    ),
    () => run,
    () => Effect.sync(() => vi.useRealTimers())
  )

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** What `svc webhook verify` says of it, in one line. */
const verdictOf = (secret: string, { body, signature }: Sent) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const words = ["webhook", "verify", `--signature=${signature}`, "--json"]
    const ended = yield* Effect.result(svc(words).run as Effect.Effect<void, StartFault | CheckFailed>).pipe(
      Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) }),
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnv({ env: { SVC_WEBHOOK_SECRET: secret } })
      ),
      Effect.provideService(StandardInput, once(body))
    )
    const { reason, valid } = JSON.parse(lines[0] ?? "{}")
    assert.strictEqual(Result.isSuccess(ended), valid === true)
    return valid === true ? "valid" : (reason as string)
  })

/** The example receiver, and what it did. */
const startExample = Effect.fnUntraced(function* (secret: string, api: { baseUrl: string; apiKey: string }) {
  const acts: Array<WebhookEvent> = []
  const server = makeReceiver({
    secret: () => secret,
    api,
    onState: (event) => void acts.push(event),
    onFailure: () => undefined
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )
  const send = ({ body, signature }: Sent) =>
    Effect.promise(() =>
      fetch(`http://127.0.0.1:${port}/`, {
        method: "POST",
        headers: { "svc-signature": Buffer.from(signature).toString("latin1"), connection: "close" },
        body: new Uint8Array(body)
      }).then(({ status }) => status)
    )
  return { acts, send }
})

/** A webhook as it went over the wire, its secret, and the example receiver with that secret. */
const capture = Effect.gen(function* () {
  const { apiPort, tenant } = yield* startService({ working: Layer.empty })
  const wire = yield* toldReceiver
  const { secret } = yield* endpointsOf(tenant).register(wire.url)
  yield* tenant.newMandate()
  yield* eventually("the event", () => wire.webhooks().length === 1)
  const example = yield* startExample(secret, { baseUrl: `http://127.0.0.1:${apiPort}`, apiKey: tenant.key })
  return { webhook: wire.webhooks()[0]!, secret: secret as string, example, tenant, wire }
})

/** Signatures that are none, made from a right one. */
const malformed = (signature: string): ReadonlyArray<string> => {
  const v1 = signature.slice(-64)
  const t = /^t=(\d+),/u.exec(signature)![1]!
  return [
    `t=${t},v1=`,
    `t=${t},v1=${v1.slice(1)}`,
    `t=${t},v1=${v1}0`,
    `t=${t},v1=${v1}${v1}`,
    `t=${t},v1=${v1.toUpperCase()}`,
    `t=${t},v1=${"g".repeat(64)}`,
    `t=${t},v1=${"é".repeat(64)}`,
    `t=${t},v1=${"é".repeat(32)}`,
    `t=+${t},v1=${v1}`,
    `t=0${t},v1=${v1}`,
    `t=-${t},v1=${v1}`,
    `t=1.7e9,v1=${v1}`,
    `t=${t}.0,v1=${v1}`,
    `t=${t}junk,v1=${v1}`,
    `t=0x${Number(t).toString(16)},v1=${v1}`,
    `t=${t}, v1=${v1}`,
    `t=${t},v1=${v1},v1=${v1}`,
    `t=${t},t=${t},v1=${v1}`,
    `v1=${v1},t=${t}`,
    `v1=${v1}`,
    v1,
    "x"
  ]
}

describe("a captured webhook (part 8)", { timeout: TEST_TIMEOUT_MS }, () => {
  it.live(
    "replayed within 300 s is processed once, and later refused, in both directions (stripe/stripe-php#657)",
    () =>
      Effect.gen(function* () {
        const { example, secret, webhook } = yield* capture
        for (const seconds of [0, TOLERANCE, -TOLERANCE]) {
          assert.strictEqual(
            yield* secondsAfter(webhook, seconds, example.send(webhook)),
            204,
            String(seconds)
          )
          assert.strictEqual(yield* secondsAfter(webhook, seconds, verdictOf(secret, webhook)), "valid")
        }
        for (const seconds of [TOLERANCE + 1, -TOLERANCE - 1, 86_400]) {
          assert.strictEqual(
            yield* secondsAfter(webhook, seconds, example.send(webhook)),
            401,
            String(seconds)
          )
          const verdict = yield* secondsAfter(webhook, seconds, verdictOf(secret, webhook))
          assert.strictEqual(verdict, "timestamp_out_of_tolerance", String(seconds))
        }
        yield* eventually("the act", () => example.acts.length > 0)
        assert.deepStrictEqual(
          example.acts.map(({ id }) => id),
          [webhook.id]
        )
      })
  )

  it.live("with another t or without a signature is refused", () =>
    Effect.gen(function* () {
      const { example, secret, webhook } = yield* capture
      const later = webhook.signature.replace(/^t=\d+/u, `t=${timestampOf(webhook) + 1}`)
      const other = webhookSignature({
        secret: `svc_wh_${Buffer.alloc(32, 1).toString("base64url")}`,
        timestamp: timestampOf(webhook),
        body: webhook.body
      })
      for (const signature of [later, other]) {
        assert.strictEqual(yield* example.send({ ...webhook, signature }), 401)
        assert.strictEqual(yield* verdictOf(secret, { ...webhook, signature }), "signature_mismatch")
      }
      assert.deepStrictEqual(example.acts, [])
    })
  )

  it.live(
    "with a v1 of another length, in upper case or not hexadecimal, or a malformed t is refused without an exception (inkbox-ai/inkbox#144)",
    () =>
      Effect.gen(function* () {
        const { example, secret, webhook } = yield* capture
        for (const signature of malformed(webhook.signature)) {
          assert.strictEqual(yield* example.send({ ...webhook, signature }), 401, signature)
          assert.strictEqual(
            yield* verdictOf(secret, { ...webhook, signature }),
            "header_malformed",
            signature
          )
        }
        assert.deepStrictEqual(example.acts, [])
        assert.strictEqual(yield* example.send(webhook), 204)
      })
  )

  it.live("verifies by its raw bytes, and not with a space after a comma (stripe/stripe-node#494)", () =>
    Effect.gen(function* () {
      const { example, secret, tenant, webhook, wire } = yield* capture
      const spaced = { ...webhook, body: Buffer.from(webhook.body.toString("utf8").replace(",", ", ")) }
      assert.deepStrictEqual(JSON.parse(spaced.body.toString()), JSON.parse(webhook.body.toString()))
      assert.strictEqual(yield* example.send(spaced), 401)
      assert.strictEqual(yield* verdictOf(secret, spaced), "signature_mismatch")
      assert.strictEqual(yield* example.send(webhook), 204)
      assert.strictEqual(yield* verdictOf(secret, webhook), "valid")
      // And again, as a new delivery: the same bytes.
      const endpoints = endpointsOf(tenant)
      const [endpoint] = (yield* tenant.get("/v1/webhook-endpoints")).data
      const [delivery] = yield* awaited(
        "the record of it",
        endpoints.deliveries(endpoint.id),
        ([one]) => one?.state === "delivered"
      )
      bodyOf(yield* endpoints.redeliver(endpoint.id, delivery!.id), 201)
      yield* eventually("it again", () => wire.webhooks().length === 2)
      assert.deepStrictEqual(wire.webhooks()[1]!.body, webhook.body)
      assert.strictEqual(yield* verdictOf(secret, wire.webhooks()[1]!), "valid")
    })
  )

  it("with an emoji in its body has the same HMAC as bytes and as a string (github/docs#3567)", () => {
    const text = '{"id":"evt_1","note":"\u{1f600}"}'
    const body = Buffer.from(text)
    const secret = `svc_wh_${Buffer.alloc(32, 9).toString("base64url")}`
    const now = Math.floor(Date.now() / MILLISECONDS_PER_SECOND)
    const key = decodeBase64Url(secret.slice("svc_wh_".length))!
    const ofString = createHmac("sha256", key).update(`${now}.${text}`).digest("hex")
    const signature = webhookSignature({ secret, timestamp: now, body })
    assert.strictEqual(signature, `t=${now},v1=${ofString}`)
    assert.isTrue(isAuthentic({ secret, signature, body }))
    assert.isTrue(Result.isSuccess(verifyWebhookSignature({ secret, header: signature, body, now })))
  })
})
