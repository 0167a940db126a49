import { assert, describe, it } from "@effect/vitest"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Context, Effect, Layer, Logger, ManagedRuntime } from "effect"
import { newOrganizationId } from "svc"
import { createMandate, layer, Organizations, StoreUnavailable, storeOf } from "svc/effect"
import { memory } from "svc/memory"
import { NoSuchShop, takeBack } from "./program.ts"

class Greeting extends Context.Service<Greeting, { readonly text: string }>()(
  "@svc/example-embedding/Greeting"
) {}

const shop = newOrganizationId()

const options = {
  environment: "test",
  baseUrl: "http://localhost:3000/mandates",
  approvalUrl: "http://localhost:3000/approvals",
  store: memory(),
  organizations: [{ id: shop, name: "Shop", returnOrigins: [] }]
} as const

const services = layer(options)

describe("a program of the host in Effect", () => {
  it("runs the use cases beside the host's own services, in one runtime", async () => {
    const runtime = ManagedRuntime.make(Layer.merge(Layer.succeed(Greeting, { text: "hello" }), services))
    const states = await runtime.runPromise(
      Effect.gen(function* () {
        const organization = (yield* (yield* Organizations).find(shop))!
        const { resource } = yield* createMandate({
          organization,
          idempotencyKey: (yield* Greeting).text,
          body: {
            kind: "SINGLE",
            subject_reference: "user_1",
            policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
            window: { ends_at: new Date(Date.now() + 86_400_000).toISOString() }
          }
        })
        return [yield* takeBack(shop, resource.id), yield* takeBack(shop, resource.id)]
      })
    )
    assert.deepStrictEqual(states, ["REVOKED", "REVOKED"])
    const unknown = await runtime.runPromise(Effect.flip(takeBack(newOrganizationId(), "mnd_1")))
    assert.instanceOf(unknown, NoSuchShop)
    await runtime.dispose()
  })

  it("keeps the host's loggers, and gives the service's own log entries to the option's", async () => {
    const lines: Array<unknown> = []
    const own = Logger.layer([Logger.make(({ message }) => void lines.push(...[message].flat()))])
    const logged = Promise.withResolvers<string>()
    const observed = layer({
      ...options,
      store: storeOf(withoutLeases, { outlivesProcess: false }),
      logger: ({ message }) => logged.resolve(message)
    })
    for (const provided of [services, observed]) {
      const runtime = ManagedRuntime.make(Layer.provideMerge(provided, own))
      await runtime.runPromise(Effect.logInfo("of the host"))
      if (provided === observed) assert.match(await logged.promise, /^due transitions cannot/u)
      await runtime.dispose()
    }
    assert.deepStrictEqual(lines, ["of the host", "of the host"])
  })
})

/** A store whose due transitions nobody can look for. */
const withoutLeases = Layer.effect(
  DueLeases,
  Effect.map(DueLeases, (leases) => ({ ...leases, take: () => Effect.fail(new StoreUnavailable({})) }))
).pipe(Layer.provideMerge(MemoryStore.layer), Layer.merge(SignerNodeCrypto.layerEphemeral))
