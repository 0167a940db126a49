import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { approvedMandate, makeShop, newProposal } from "../test/Shop.ts"
import { createService, type ServiceOptions, SvcError } from "./index.ts"
import { toNodeHandler } from "./node.ts"
import { postgres } from "./postgres.ts"
import { ServiceParts } from "./Service.ts"
import { makeFetch } from "./ServiceFetch.ts"
import { CLOSE_WAIT_MILLISECONDS } from "./ServiceRuntime.ts"
import { StoreLayer, StoreWithin } from "./Store.ts"

/** A promise, and what resolves it. */
const gate = () => {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

const failureOf = async (call: Promise<unknown>): Promise<SvcError> => {
  const outcome = await call.then(
    () => "done",
    (error: unknown) => error
  )
  assert.instanceOf(outcome, SvcError)
  return outcome as SvcError
}

const CLIENT = { query: () => new Promise<never>(() => {}) }

/** A service whose store says when it is closed, and has transactions that are none. */
const serviceOf = (
  within = Effect.succeed(Context.empty()),
  options: Partial<ServiceOptions> = {},
  opened = Promise.resolve()
) => {
  const logged: Array<string> = []
  const happened: Array<string> = []
  const { store } = makeShop().serviceOptions
  const shop = makeShop({
    ...options,
    logger: ({ message }) => logged.push(message),
    store: {
      ...store,
      [StoreLayer]: (signer) =>
        Layer.merge(
          Layer.unwrap(
            Effect.as(
              Effect.promise(() => opened),
              store[StoreLayer](signer)
            )
          ),
          Layer.effectDiscard(
            Effect.addFinalizer(() => Effect.sync(() => happened.push("the store is closed")))
          )
        ),
      [StoreWithin]: () => within as never
    }
  })
  return { shop, service: createService(shop.serviceOptions), logged, happened }
}

/** Has timers stand still until they are advanced. */
const stopTimers = () => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })

afterEach(() => {
  vi.useRealTimers()
})

describe("close", () => {
  it("waits for a transaction, whose calls go on, and refuses what comes meanwhile", async () => {
    const { happened, service, shop } = serviceOf()
    await service.ready()
    const { open, opened } = gate()
    const transaction = service.transaction(CLIENT, async (within) => {
      await opened
      const { data } = await within.forOrganization(shop.id).mandates.list()
      happened.push("the transaction has run")
      return data
    })
    const closing = service.close()
    const refused = await failureOf(service.forOrganization(shop.id).mandates.list())
    assert.deepStrictEqual(
      [refused.code, refused.message, refused.retryable],
      ["store_unavailable", "The service is closed.", false]
    )
    assert.strictEqual((await failureOf(service.transaction(CLIENT, async () => "ran"))).code, refused.code)
    open()
    await closing
    assert.deepStrictEqual(await transaction, [])
    assert.deepStrictEqual(happened, ["the transaction has run", "the store is closed"])
  })

  it("waits for an execution, which is reported before", async () => {
    const { happened, service, shop } = serviceOf()
    const face = service.forOrganization(shop.id)
    const mandate = await approvedMandate(shop, face, service.fetch)
    const { opening, proposal } = await newProposal()
    const { id } = await face.authorizations.propose(mandate, proposal)
    const [begun, provider] = [gate(), gate()]
    const run = async () => {
      begun.open()
      await provider.opened
      return { outcome: "accepted", provider_transaction_reference: "txn_1" } as const
    }
    const execution = face.execute(id, run, { opening })
    await begun.opened
    const closing = service.close()
    provider.open()
    await closing
    assert.strictEqual((await execution).outcome, "committed")
    assert.deepStrictEqual(happened, ["the store is closed"])
  })

  it("waits for an answer whose body is still read, and for none without one", async () => {
    const { happened, logged, service } = serviceOf()
    const { open, opened } = gate()
    const body = Stream.concat(
      Stream.succeed(new TextEncoder().encode("begun, ")),
      Stream.fromEffect(
        Effect.promise(async () => {
          await opened
          happened.push("the body has ended")
          return new TextEncoder().encode("ended")
        })
      )
    )
    const app = Effect.succeed(HttpServerResponse.stream(body))
    const fetch = makeFetch(service[ServiceParts].runtime, app, "http://localhost:3000/mandates")
    const answer = await fetch(new Request("http://localhost:3000/mandates"))
    await fetch(new Request("http://localhost:3000/mandates", { method: "HEAD" }))
    const controller = new AbortController()
    const abandoned = [
      await fetch(new Request("http://localhost:3000/mandates", { signal: controller.signal })),
      await fetch(new Request("http://localhost:3000/mandates"))
    ]
    controller.abort()
    await abandoned[1]?.body?.cancel()
    const closing = service.close()
    open()
    assert.strictEqual(await answer.text(), "begun, ended")
    await closing
    assert.strictEqual(happened.at(-1), "the store is closed")
    assert.include(happened, "the body has ended")
    assert.isEmpty(logged.filter((message) => message.startsWith("close:")))
  })

  it("waits for the answers of the handler for node:http", async () => {
    const [asked, answered] = [gate(), gate()]
    const { happened, service } = serviceOf(undefined, {
      authenticate: async () => {
        asked.open()
        await answered.opened
        return undefined
      }
    })
    const server = createServer(toNodeHandler(service))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mandates`
    const answer = fetch(`${base}/v1/mandates`)
    await asked.opened
    const closing = service.close()
    assert.strictEqual((await fetch(`${base}/healthz`)).status, 503)
    assert.isEmpty(happened)
    answered.open()
    assert.strictEqual((await answer).status, 401)
    await closing
    assert.deepStrictEqual(happened, ["the store is closed"])
    await new Promise((resolve) => server.close(resolve).closeAllConnections())
  })

  it("does not wait for a request that was answered by its host while the store was opened", async () => {
    const { open, opened } = gate()
    const { logged, service } = serviceOf(undefined, {}, opened)
    const handle = toNodeHandler(service)
    const server = createServer((request, response) => {
      handle(request, response)
      response.writeHead(504).end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    assert.strictEqual((await fetch(`http://127.0.0.1:${port}/mandates/healthz`)).status, 504)
    open()
    await service.ready()
    await service.close()
    assert.isEmpty(logged.filter((message) => message.startsWith("close:")))
    await new Promise((resolve) => server.close(resolve).closeAllConnections())
  })

  it(`closes the store after ${CLOSE_WAIT_MILLISECONDS} ms whatever is under way, says so, and lets nothing go on`, async () => {
    const { happened, logged, service, shop } = serviceOf()
    await service.ready()
    const { open, opened } = gate()
    const transaction = failureOf(
      service.transaction(CLIENT, async (within) => {
        await opened
        return within.forOrganization(shop.id).mandates.list()
      })
    )
    stopTimers()
    const closing = service.close()
    assert.strictEqual(service.close(), closing)
    await vi.advanceTimersByTimeAsync(CLOSE_WAIT_MILLISECONDS - 1)
    assert.isEmpty(happened)
    await vi.advanceTimersByTimeAsync(1)
    vi.useRealTimers()
    await closing
    assert.deepStrictEqual(happened, ["the store is closed"])
    assert.lengthOf(
      logged.filter((message) => message.startsWith("close:") && message.includes("(1) have not ended")),
      1
    )
    open()
    assert.strictEqual((await transaction).message, "The service is closed.")
  })
})

describe("a transaction on a connection that never answers", () => {
  it("is given up by the checks of a Postgres store after 10 s, and nothing has run", async () => {
    const checks = postgres({ url: "postgres://svc@localhost/shop" })[StoreWithin]?.(CLIENT)
    const { service } = serviceOf(checks as never)
    await service.ready()
    stopTimers()
    let ran = 0
    const refused = failureOf(service.transaction(CLIENT, async () => ran++))
    await vi.advanceTimersByTimeAsync(10_000)
    vi.useRealTimers()
    const { code, message, retryable } = await refused
    assert.deepStrictEqual([code, retryable, ran], ["store_unavailable", true, 0])
    assert.include(message, "has not answered for 10 seconds")
    await service.close()
  })
})
