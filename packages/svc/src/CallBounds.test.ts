import { assert, describe, it } from "@effect/vitest"
import type { Calls } from "@svc/client"
import { createClient } from "@svc/client"
import { approvedMandate, makeShop, newMandate, newProposal } from "../test/Shop.ts"
import { boundedCalls, callsWithinTransaction, type RunFor } from "./CallBounds.ts"
import { createService, SvcError } from "./index.ts"

const failureOf = async (call: Promise<unknown>): Promise<SvcError> => {
  const outcome = await call.then(
    () => "done",
    (error: unknown) => error
  )
  assert.instanceOf(outcome, SvcError)
  return outcome as SvcError
}

const unavailable = new SvcError({ code: "store_unavailable", message: "down", status: 503, retryable: true })

/** Runs that fail as often as they are told, and count how often they were tried. */
const failing = (times: number) => {
  const tried = { count: 0 }
  const runFor: RunFor = async () => {
    tried.count += 1
    if (tried.count <= times) throw unavailable
    return "recorded" as never
  }
  return { tried, call: boundedCalls(runFor) }
}

const program = () => {
  throw new Error("no program is run here")
}

describe("the bounds of a call in process", () => {
  it("repeats nothing unless it is told to", async () => {
    const { call, tried } = failing(1)
    assert.strictEqual(await failureOf(call(program, {}, "key-1")), unavailable)
    assert.strictEqual(tried.count, 1)
  })

  it("repeats what may succeed later as often as it is told to", async () => {
    const { call, tried } = failing(1)
    assert.strictEqual(await call(program, { retries: 1 }), "recorded")
    assert.strictEqual(tried.count, 2)
  })

  it("gives up with the key of the write, after its time or by the signal", async () => {
    const call = boundedCalls(() => new Promise(() => {}))
    const late = await failureOf(call(program, { timeout: 1 }, "key-1"))
    assert.deepStrictEqual([late.code, late.retryable, late.idempotencyKey], ["timeout", true, "key-1"])
    const controller = new AbortController()
    const waiting = failureOf(call(program, { signal: controller.signal }, "key-2"))
    controller.abort(new Error("the user left"))
    const aborted = await waiting
    assert.deepStrictEqual(
      [aborted.code, aborted.retryable, aborted.idempotencyKey],
      ["aborted", false, "key-2"]
    )
    const { call: never, tried } = failing(0)
    assert.strictEqual((await failureOf(never(program, { signal: controller.signal }))).code, "aborted")
    assert.strictEqual(tried.count, 0)
  })

  it("says that the outcome is unknown when it is aborted, whatever the reason of the abort is", async () => {
    const call = boundedCalls(() => new Promise(() => {}))
    const controller = new AbortController()
    const waiting = failureOf(call(program, { signal: controller.signal }, "key-1"))
    controller.abort(new SvcError({ code: "not_found", message: "another call was refused", status: 404 }))
    const { code, idempotencyKey } = await waiting
    assert.deepStrictEqual([code, idempotencyKey], ["aborted", "key-1"])
  })

  it("says that nothing was done when it was aborted before it began", async () => {
    const { call, tried } = failing(0)
    const { code, message } = await failureOf(call(program, { signal: AbortSignal.abort() }, "key-1"))
    assert.deepStrictEqual(
      [code, message],
      ["aborted", "The call was aborted before it began: nothing was done"]
    )
    assert.strictEqual(tried.count, 0)
  })

  it("refuses bounds that are none, and any within a transaction", async () => {
    const { call, tried } = failing(0)
    const controller = new AbortController() as never
    for (const options of [
      { timeout: 0 },
      { timeout: Number.NaN },
      { retries: -1 },
      { signal: controller },
      { idempotency_key: "key" } as never
    ])
      assert.strictEqual((await failureOf(call(program, options))).code, "invalid_argument")
    const within = callsWithinTransaction(async () => "recorded" as never)
    for (const options of [{ timeout: 10 }, { retries: 1 }, { signal: new AbortController().signal }])
      assert.strictEqual((await failureOf(within(program, options))).code, "invalid_argument")
    assert.strictEqual(await within(program, { retries: 0 }), "recorded")
    assert.strictEqual(tried.count, 0)
  })
})

describe("the calls of a service and of the client", () => {
  it("are the same: what takes Calls works against either", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const { key: apiKey } = await service.createApiKey(shop.id)
    const client = createClient({
      baseUrl: shop.serviceOptions.baseUrl,
      apiKey,
      fetch: (url, init) => service.fetch(new Request(url, init))
    })
    const mandate = await approvedMandate(shop, face, service.fetch)
    const statesSeen = async (calls: Calls): Promise<ReadonlyArray<string>> => {
      const { id } = await calls.mandates.create(newMandate("user_1"))
      await calls.mandates.revoke(id, { reason: "not needed" })
      const refused = await failureOf(calls.mandates.get("mnd_00000000000000000000000000"))
      const states = [(await calls.mandates.get(id)).state, (await calls.mandates.get(mandate)).state]
      const types: Array<string> = []
      for await (const event of calls.mandates.events(id, { limit: 1 })) types.push(event.type)
      const pages = calls.events.list({ limit: 1 }).pages()
      const first = await pages[Symbol.asyncIterator]().next()
      return [
        refused.code,
        ...states,
        ...types,
        ...first.value.data.map(({ type }: { type: string }) => type)
      ]
    }
    const seen = await statesSeen(face)
    assert.deepStrictEqual(seen, [
      "not_found",
      "REVOKED",
      "ACTIVE",
      "mandate.created",
      "mandate.revoked",
      "mandate.created"
    ])
    assert.deepStrictEqual(await statesSeen(client), seen)
    await service.close()
  })

  it("keep an opening before they propose, and execute what is allowed once", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const mandate = await approvedMandate(shop, face, service.fetch)
    const { commitment: _, ...input } = (await newProposal()).proposal
    const kept: Array<string> = []
    const lost = new Error("the disk is full")
    const refusal = await face.authorizations
      .propose(mandate, input, { storeOpening: () => Promise.reject(lost) })
      .catch((error: unknown) => error)
    assert.strictEqual(refusal, lost)
    assert.lengthOf((await face.authorizations.list(mandate)).data, 0)
    const authorization = await face.authorizations.propose(mandate, input, {
      storeOpening: async ({ opening }) => kept.push(opening)
    })
    let charged = 0
    const charge = async () => {
      charged += 1
      return { outcome: "accepted" as const, provider_transaction_reference: "txn_1" }
    }
    const executed = await face.execute(authorization, charge, { opening: kept[0] ?? "" })
    assert.deepStrictEqual([executed.outcome, executed.authorization.state], ["committed", "COMMITTED"])
    const again = await failureOf(face.execute(authorization, charge, { opening: kept[0] ?? "" }))
    assert.deepStrictEqual([again.code, charged], ["execution_not_allowed", 1])
    await service.close()
  })

  it("run nothing twice while its outcome is open, whoever asks", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const mandate = await approvedMandate(shop, face, service.fetch)
    const { opening, proposal } = await newProposal()
    const { id } = await face.authorizations.propose(mandate, proposal)
    const pending = async () => ({ outcome: "uncertain" as const })
    assert.strictEqual((await face.execute(id, pending, { opening })).outcome, "uncertain")
    const again = await failureOf(service.forOrganization(shop.id).execute(id, pending, { opening }))
    assert.strictEqual(again.code, "execution_repeated")
    await service.close()
  })

  it("take their input as it is when they are made", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const mandate = await approvedMandate(shop, face, service.fetch)
    const { proposal } = await newProposal(100)
    const input = structuredClone(proposal)
    const proposed = face.authorizations.propose(mandate, input)
    Object.assign(input.proposed_action.payment, { amount: 5000 })
    assert.strictEqual((await proposed).proposed_action.payment.amount, 100)
    const cyclic: Record<string, unknown> = { ...newMandate("user_1") }
    cyclic.policy = cyclic
    const refused = await failureOf(face.mandates.create(cyclic as never))
    assert.strictEqual(refused.code, "validation_failed")
    await service.close()
  })

  it("refuse a promise in place of what it gives, and are given up while an opening is stored", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const id = Promise.resolve("mnd_00000000000000000000000000") as never
    assert.throws(() => service.forOrganization(Promise.resolve(shop.id) as never), SvcError, /await it/u)
    const calls: ReadonlyArray<Promise<unknown>> = [
      face.mandates.get(id),
      face.mandates.create(Promise.resolve(newMandate("user_1")) as never),
      face.mandates.events(id),
      face.authorizations.list(id),
      face.passkeys.retire("user_1", id),
      face.webhooks.deliveries(id),
      face.execute(id, async () => ({ outcome: "uncertain" }), { opening: "" })
    ]
    for (const call of calls) {
      const { code, message } = await failureOf(call)
      assert.strictEqual(code, "invalid_argument")
      assert.match(message, /was given a promise: await it$/u)
    }
    for (const [call, given] of [
      [
        face.mandates.get(undefined as never),
        "mandates.get takes an identifier as its first argument, and was given nothing"
      ],
      [face.authorizations.commit({} as never, {} as never), "and was given something of type object"],
      [face.passkeys.list(null as never), "and was given null"]
    ] as const) {
      const { code, message } = await failureOf(call)
      assert.strictEqual(code, "invalid_argument")
      assert.include(message, given)
    }
    const iterate = async () => {
      for await (const _ of face.mandates.events(id)) assert.fail("there is nothing in it")
    }
    assert.strictEqual((await failureOf(iterate())).code, "invalid_argument")

    const mandate = await approvedMandate(shop, face, service.fetch)
    const { commitment: _, ...input } = (await newProposal()).proposal
    const storeOpening = () => new Promise(() => {})
    const late = await failureOf(face.authorizations.propose(mandate, input, { storeOpening, timeout: 1 }))
    const controller = new AbortController()
    const waiting = face.authorizations.propose(mandate, input, { storeOpening, signal: controller.signal })
    controller.abort()
    assert.deepStrictEqual([late.code, (await failureOf(waiting)).code], ["timeout", "aborted"])
    assert.lengthOf((await face.authorizations.list(mandate)).data, 0)
    await service.close()
  })

  it("name the commitment that a proposal lacks, and the reason of a refused key", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const { commitment: _, ...input } = (await newProposal()).proposal
    const lacking = await failureOf(
      face.authorizations.propose("mnd_00000000000000000000000000", input as never, {
        idempotencyKey: "order-1"
      })
    )
    assert.deepStrictEqual(
      [lacking.code, lacking.errors.map(({ pointer }) => pointer), lacking.idempotencyKey],
      ["validation_failed", ["/commitment"], "order-1"]
    )
    await service.close()
  })
})
