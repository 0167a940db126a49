import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, it } from "node:test"
import { startAgent } from "../demo/AgentProcess.ts"
import { type Interruptions, type Moment, startInterruptions } from "../demo/Interruptions.ts"
import { type LocalService, startService } from "../demo/LocalService.ts"
import { type PretendProvider, startProvider } from "../demo/PretendProvider.ts"
import { openOrders } from "../src/Orders.ts"

/** In cents. */
const AMOUNT = 1000

/** Where the agent is killed, one start after the other, and whether its order is paid in the end. */
const KILLS: ReadonlyArray<readonly [moments: ReadonlyArray<Moment>, status: "paid" | "not paid"]> = [
  [["before propose"], "paid"],
  [["after propose"], "paid"],
  [["before read"], "paid"],
  [["after read"], "paid"],
  // Whether this request arrives is not known, so the payment is closed.
  [["before pay"], "not paid"],
  [["after pay"], "paid"],
  [["before report"], "paid"],
  [["after report"], "paid"],
  [["after propose", "after propose", "after pay"], "paid"],
  [["before pay", "before close", "after close", "before report", "after report"], "not paid"],
  [["after pay", "after close", "after read", "after report"], "paid"]
]

const folder = mkdtempSync(join(tmpdir(), "orders-"))
const orders = openOrders(folder)
let service: LocalService
let provider: PretendProvider
let proxy: Interruptions

const start = (...order: ReadonlyArray<string>) => startAgent(service, proxy, folder, ...order)

/** Starts the agent, and kills it at a moment. What it was about to send, or to be told, is lost. */
const killAt = async (moment: Moment, ...order: ReadonlyArray<string>): Promise<void> => {
  const agent = start(...order)
  proxy.at(moment, async () => {
    await agent.kill()
    if (moment.startsWith("before")) throw new Error("lost with the agent")
  })
  assert.equal((await agent.ended).signal, "SIGKILL", moment)
}

const recover = async (): Promise<void> => {
  const { code } = await start().ended
  assert.equal(code, 0)
  assert.deepEqual(orders.unfinished(), [])
}

const paymentsFor = (order: string): number =>
  provider.transfers.filter(({ description }) => description === order).length

/** The state of each authorization of an order. */
const statesOf = async (order: string): Promise<ReadonlyArray<string>> => {
  const states: Array<string> = []
  for await (const { external_reference, state } of service.svc.authorizations.list(service.mandate))
    if (external_reference === order) states.push(state)
  return states
}

before(async () => {
  service = await startService()
  provider = await startProvider()
  proxy = await startInterruptions(service, provider)
})

after(async () => {
  await proxy.stop()
  await provider.stop()
  await service.stop()
  rmSync(folder, { recursive: true })
})

describe("an agent that is killed", () => {
  for (const [index, [moments, status]] of KILLS.entries()) {
    it(`${moments.join(", then ")}: its order is ${status}, once and for all`, async () => {
      const order = `order-${index}`
      const [first, ...later] = moments
      assert.ok(first)
      await killAt(first, order, String(AMOUNT))
      for (const moment of later) await killAt(moment)
      await recover()
      assert.equal(orders.find(order)?.outcome?.status, status)
      assert.equal(paymentsFor(order), status === "paid" ? 1 : 0)
      assert.deepEqual(await statesOf(order), [status === "paid" ? "COMMITTED" : "CANCELLED"])
    })
  }

  it("closes a payment whose request is still on its way, which then pays nothing", async () => {
    let arrive = () => {}
    const agent = start("order-delayed", String(AMOUNT))
    proxy.at("before pay", async () => {
      await agent.kill()
      await new Promise<void>((resolve) => {
        arrive = resolve
      })
    })
    await agent.ended
    await recover()
    const arrived = new Promise<void>((resolve) => proxy.at("after pay", async () => resolve()))
    arrive()
    await arrived
    assert.equal(paymentsFor("order-delayed"), 0)
    assert.deepEqual(await statesOf("order-delayed"), ["CANCELLED"])
  })

  it("takes no notice of an order that was being written", async () => {
    writeFileSync(join(folder, "order-0.json.new"), '{"id":"order-0","man')
    await recover()
  })
})

describe("an agent that is left alone", () => {
  it("pays for an order once, however often it is started for it", async () => {
    for (const expected of [/^order-twice: paid, txn_/u, /^$/u])
      assert.match((await start("order-twice", String(AMOUNT)).ended).printed, expected)
    assert.equal(paymentsFor("order-twice"), 1)
  })

  it("pays nothing beyond the mandate, and nothing that the provider declines", async () => {
    assert.match((await start("order-large", "50001").ended).printed, /not paid, AMOUNT_ABOVE_MAXIMUM/u)
    assert.match((await start("order-declined", "50000").ended).printed, /not paid, EXECUTOR_REJECTED/u)
    assert.equal(paymentsFor("order-large") + paymentsFor("order-declined"), 0)
  })

  it("leaves an order open while the provider cannot be asked, and finishes it later", async () => {
    const cut = () => Promise.reject(new Error("cut"))
    proxy.at("before pay", cut)
    proxy.at("before close", cut)
    assert.equal((await start("order-open", String(AMOUNT)).ended).code, 1)
    assert.deepEqual(await statesOf("order-open"), ["RESERVED"])
    await recover()
    assert.deepEqual(await statesOf("order-open"), ["CANCELLED"])
  })
})

describe("the mandate, after all of this", () => {
  it("counts what was paid, and nothing is left reserved", async () => {
    const { usage } = await service.svc.mandates.get(service.mandate)
    const moved = provider.transfers.reduce((sum, { amount }) => sum + amount, 0)
    assert.ok(moved > 0)
    assert.deepEqual([usage.committed_amount, usage.reserved_amount, usage.late_amount], [moved, 0, 0])
  })
})
