import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { WebhookWakeUp } from "@svc/domain/workers/WebhookWorker"
import { IdlePause } from "@svc/domain/workers/WorkerPause"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { makeShop, newMandate } from "../test/Shop.ts"
import { pauseUnreferenced } from "./IdlePause.ts"
import { createService, type Service, verifyWebhook } from "./index.ts"
import { toNodeHandler } from "./node.ts"
import { ServiceParts } from "./Service.ts"
import { StoreLayer } from "./Store.ts"

const PROGRAMS = fileURLToPath(new URL("../test", import.meta.url))

/** How long a process may take to end by itself, in milliseconds. */
const END_WITHIN = 120_000

const hintsOf = (service: Service) =>
  service[ServiceParts].runtime.run(Effect.map(WebhookWakeUp, (wakeUp) => wakeUp.count()))

/** A receiver of webhooks on this machine, which says what it has received so far. */
const receiver = async () => {
  const received: Array<{ readonly signature: string; readonly body: string }> = []
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const signature = String(request.headers["svc-signature"])
    received.push({ signature, body: Buffer.concat(chunks).toString() })
    response.end()
    arrived()
  })
  let arrived = (): void => undefined
  const first = new Promise<void>((resolve) => {
    arrived = resolve
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`, received, first, close }
}

describe("the services of createService", () => {
  it("deliver webhooks to this machine where a test has them do so", async () => {
    const hooks = await receiver()
    const shop = makeShop({ webhookAllowLoopback: true })
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const { secret = "" } = await face.webhooks.create({ url: hooks.url })
    const { id } = await face.mandates.create(newMandate("user_1"))
    await hooks.first
    const [{ body, signature } = { body: "", signature: "" }] = hooks.received
    const event = await verifyWebhook({ secrets: [secret], headers: { "svc-signature": signature }, body })
    assert.deepInclude(event, { type: "mandate.created" })
    assert.strictEqual(event.data.mandate_id, id)
    await service.close()
    await hooks.close()
  })

  it("deliver nothing to this machine otherwise", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const refused = await service
      .forOrganization(shop.id)
      .webhooks.create({ url: "http://127.0.0.1:4000/hooks" })
      .then(
        () => "created",
        (error: unknown) => error
      )
    assert.deepInclude(refused, { code: "webhook_target_not_allowed" })
    await service.close()
  })

  it("do not wake the worker of another service in the process", async () => {
    const [one, other] = [makeShop({ worker: false }), makeShop({ worker: false })]
    const first = createService(one.serviceOptions)
    const second = createService(other.serviceOptions)
    await second.ready()
    await first.forOrganization(one.id).mandates.create(newMandate("user_1"))
    assert.deepStrictEqual([await hintsOf(first), await hintsOf(second)], [1, 0])
    await first.close()
    await second.close()
  })

  it("let a process end that has not closed them", { timeout: 2 * END_WITHIN }, async () => {
    const child = spawn(process.execPath, [`${PROGRAMS}/UnclosedService.ts`], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const patience = setTimeout(() => child.kill("SIGKILL"), END_WITHIN)
    let output = ""
    child.stdout.on("data", (chunk) => {
      output += chunk
    })
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
      child.on("close", (...ended) => resolve(ended))
    })
    clearTimeout(patience)
    assert.deepStrictEqual([code, signal, output], [0, null, "PENDING_APPROVAL\n"])
  })
})

describe("pauseUnreferenced", () => {
  it.effect("goes by the clock of a test", () =>
    Effect.gen(function* () {
      const pausing = yield* Effect.forkChild(pauseUnreferenced(60_000))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(pausing)
    })
  )

  it.live("ends after its time", () =>
    Effect.gen(function* () {
      const pause = yield* IdlePause
      const before = yield* Clock.monotonicTimeNanos
      yield* pause(20)
      assert.isAtLeast(Number((yield* Clock.monotonicTimeNanos) - before), 15_000_000)
    }).pipe(Effect.provide(Layer.succeed(IdlePause, pauseUnreferenced)))
  )
})

describe("the handler for node:http, while the store cannot be opened", () => {
  it("leaves an answer that its host has given in the meantime as it is", async () => {
    const { serviceOptions } = makeShop()
    const service = createService({
      ...serviceOptions,
      store: {
        ...serviceOptions.store,
        [StoreLayer]: () =>
          Layer.effectDiscard(Effect.fail(new Error("the database does not answer"))) as never
      }
    })
    const handle = toNodeHandler(service)
    const server = createServer((request, response) => {
      handle(request, response)
      response.writeHead(504).end("it took too long")
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const answer = await fetch(`http://127.0.0.1:${port}/mandates/healthz`)
    assert.deepStrictEqual([answer.status, await answer.text()], [504, "it took too long"])
    await service.ready().catch(() => undefined)
    await service.close()
    server.close()
  })
})
