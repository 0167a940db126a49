/** A process that delivers webhooks until it is killed, or the process that started it is gone. */
import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { webhookWorker } from "@svc/domain/workers/WebhookWorker"
import { Effect, Layer, Logger, References } from "effect"
import { webhookPorts } from "./WebhookPorts.ts"
import { PROCESS_HEADER } from "./WebhookReceiver.ts"

const { SOAK_MASTER_KEY: masterKey = "", SOAK_SCHEMA: schema = "", SOAK_URL: url = "" } = process.env

process.stdin.resume().once("end", () => process.exit())

/** The real transport, but that a receiver can tell whom it answers. */
const namedTransport = Layer.effect(
  WebhookTransport,
  Effect.map(WebhookTransport, ({ check, deliver }) =>
    WebhookTransport.of({
      check,
      deliver: (attempt) =>
        deliver({ ...attempt, headers: { ...attempt.headers, [PROCESS_HEADER]: String(process.pid) } })
    })
  )
)

/** Endpoints fail, and are disabled, as the soak wants it. */
const EXPECTED = "a webhook endpoint is disabled"

const logger = Logger.make<unknown, void>((options) => {
  const line = Logger.formatLogFmt.log(options)
  if (!line.includes(EXPECTED)) process.stdout.write(`${line}\n`)
})

const announced = Effect.sync(() => process.stdout.write("working\n"))

await Effect.andThen(announced, webhookWorker).pipe(
  Effect.provide(Layer.provideMerge(namedTransport, webhookPorts({ url, schema, masterKey }, "require"))),
  Effect.provide(Logger.layer([logger])),
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  Effect.runPromise
)
