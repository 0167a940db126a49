import { randomBytes } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Effect, Layer } from "effect"
import { Pool } from "pg"
import { approvedMandate, makeShop, newMandate, newProposal } from "../test/Shop.ts"
import { createService, type LogEntry, type ServiceOptions } from "./index.ts"
import { toRouteHandlers } from "./next.ts"
import { postgres } from "./postgres.ts"
import { StoreLayer } from "./Store.ts"

const MANDATES = "http://localhost:3000/mandates/v1/mandates"

const outcomeOf = (work: Promise<unknown>): Promise<unknown> => work.catch((cause: unknown) => cause)

/** A service, and the entries of its log. */
const loggedService = (options: Partial<ServiceOptions>) => {
  const entries: Array<LogEntry> = []
  const { id, serviceOptions } = makeShop({ logger: (entry) => entries.push(entry), ...options })
  const statuses = () =>
    entries.filter(({ message }) => message === "request").map(({ facts }) => facts.status)
  return { id, service: createService(serviceOptions), entries, statuses }
}

describe("fetch, when the signal of its request is aborted", () => {
  it("rejects with the signal's reason at once, and the work is interrupted as for a client that has left", async () => {
    const controller = new AbortController()
    const reason = new Error("the user left")
    const { entries, service, statuses } = loggedService({
      authenticate: () => {
        controller.abort(reason)
        return new Promise(() => {})
      }
    })
    await service.ready()
    const request = () => new Request(MANDATES, { signal: controller.signal })
    assert.strictEqual(await outcomeOf(service.fetch(request())), reason)
    const next = await toRouteHandlers(service).GET(request())
    assert.strictEqual(next.status, 499)
    await service.close()
    // The second request came with a signal that was aborted already: nothing was done for it.
    assert.deepStrictEqual(statuses(), [499])
    assert.isEmpty(entries.filter(({ level }) => level === "error" || level === "warn"))
  })

  it("does not wait for a store that is still being opened, and does nothing when it is open", async () => {
    const controller = new AbortController()
    let authenticated = 0
    let open: () => void = () => undefined
    const opening = new Promise<void>((resolve) => {
      open = resolve
    })
    const { store } = makeShop().serviceOptions
    const { service, statuses } = loggedService({
      authenticate: async () => {
        authenticated += 1
        return undefined
      },
      store: {
        ...store,
        [StoreLayer]: (signer) =>
          Layer.unwrap(
            Effect.as(
              Effect.promise(() => opening),
              store[StoreLayer](signer)
            )
          )
      }
    })
    const answer = outcomeOf(service.fetch(new Request(MANDATES, { signal: controller.signal })))
    controller.abort("left")
    assert.strictEqual(await answer, "left")
    open()
    await service.close()
    assert.deepStrictEqual([authenticated, statuses()], [0, []])
  })

  it("fails a body that is still read, so that a part does not pass for the whole", async () => {
    const shop = makeShop({ authenticate: async () => ({ organization: shop.id }) })
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const mandate = await approvedMandate(shop, face, service.fetch)
    // Evidence that is longer than what is sent as a whole.
    const attributes = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`a${at}`, "x".repeat(255)]))
    for (let count = 0; count < 40; count++) {
      const { proposal } = await newProposal()
      const proposed_action = { ...proposal.proposed_action, attributes }
      await face.authorizations.propose(mandate, { ...proposal, proposed_action })
    }
    const url = `${MANDATES}/${mandate}/evidence`
    for (const read of [0, 1]) {
      const controller = new AbortController()
      const { body } = await service.fetch(new Request(url, { signal: controller.signal }))
      const reader = body?.getReader()
      for (let count = 0; count < read; count++) assert.isFalse((await reader?.read())?.done)
      controller.abort("left")
      assert.strictEqual(await outcomeOf(reader?.read() ?? Promise.resolve()), "left")
    }
    const controller = new AbortController()
    const answer = await service.fetch(new Request(url, { signal: controller.signal }))
    assert.strictEqual((await answer.json()).format, "svc.evidence.v1")
    controller.abort()
    await service.close()
  })

  it("answers all the same when that comes later, and a signal of its own is never needed", async () => {
    const controller = new AbortController()
    const { service } = loggedService({})
    const answer = await service.fetch(new Request(MANDATES, { signal: controller.signal }))
    controller.abort()
    assert.deepStrictEqual([answer.status, (await answer.json()).code], [401, "authentication_required"])
    await service.close()
  })
})

const server = await openTestDatabase()

afterAll(() => server?.stop())

describe.skipIf(server === undefined)("a write whose request is aborted while it is appended", () => {
  /** Turns of the event loop between the begin of the append and the abort. */
  const LATER = [0, 1, 3]
  const FEED_POLLS = 200
  const FEED_PAUSE_MILLISECONDS = 50

  it("is recorded whole, or not at all, and once when it is sent again", async () => {
    const pool = new Pool({ connectionString: server?.url ?? "", max: 4 })
    const stored = postgres({ pool, schema: `shop_${randomBytes(6).toString("hex")}` })
    let beforeAppend = async (): Promise<void> => undefined
    const aborting = Layer.effect(
      MandateStore,
      Effect.map(MandateStore, (store) =>
        MandateStore.of({
          ...store,
          append: (change) =>
            Effect.suspend(() => {
              void beforeAppend()
              return store.append(change)
            })
        })
      )
    )
    const { id, service, statuses } = loggedService({
      masterKey: new Uint8Array(32),
      authenticate: async () => ({ organization: id }),
      store: { ...stored, [StoreLayer]: (signer) => Layer.provideMerge(aborting, stored[StoreLayer](signer)) }
    })
    const { events, mandates } = service.forOrganization(id)
    const bodies = new Map(
      LATER.map((turns) => [`after-${turns}`, JSON.stringify(newMandate(`after-${turns}`))])
    )
    const send = (key: string, signal?: AbortSignal) =>
      service.fetch(
        new Request(MANDATES, {
          method: "POST",
          headers: { "content-type": "application/json", "idempotency-key": key },
          body: bodies.get(key) ?? "",
          ...(signal === undefined ? {} : { signal })
        })
      )
    const recorded = async (subject: string) => {
      const { data } = await mandates.list({ subject_reference: subject, limit: 100 })
      const ids = data.map((mandate) => mandate.id)
      const inFeed = async () =>
        (await events.list({ limit: 100 })).data.filter(({ mandate_id: of }) => ids.includes(of)).length
      let shown = await inFeed()
      // A transaction that is open in another database of the server holds the feed back.
      for (let poll = 0; shown < data.length && poll < FEED_POLLS; poll++) {
        await pause(FEED_PAUSE_MILLISECONDS)
        shown = await inFeed()
      }
      return [data.length, shown] as const
    }
    for (const turns of LATER) {
      const key = `after-${turns}`
      const controller = new AbortController()
      beforeAppend = async () => {
        beforeAppend = async () => undefined
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
        controller.abort(key)
      }
      const aborted = await outcomeOf(send(key, controller.signal))
      if (!(aborted instanceof Response)) assert.strictEqual(aborted, key)
      const [present, ofFeed] = await recorded(key)
      assert.strictEqual(present, ofFeed)
      assert.strictEqual((await send(key)).status, 201)
      assert.deepStrictEqual(await recorded(key), [1, 1])
    }
    await service.close()
    assert.include(statuses(), 499)
    await pool.end()
  })
})
