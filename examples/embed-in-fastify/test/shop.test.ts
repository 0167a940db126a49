import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { after, before, describe, it } from "node:test"
import { approveOnPage } from "@svc/testkit/ApproveOnPage"

const SHOP = new URL("../src/shop.ts", import.meta.url).pathname

let shop: ChildProcess
let origin = ""

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "localhost")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return typeof address === "object" && address !== null ? address.port : 0
}

const start = async (port: number): Promise<void> => {
  const env = { ...process.env, PORT: String(port) }
  shop = spawn(process.execPath, [SHOP], { env, stdio: ["ignore", "pipe", "inherit"] })
  const [line] = await Promise.race([once(shop.stdout!, "data"), once(shop, "exit")])
  assert.match(String(line), /the shop is at/)
}

const stop = async (signal: NodeJS.Signals): Promise<void> => {
  const ended = once(shop, "exit")
  shop.kill(signal)
  await ended
}

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body)
  })

const login = async (id: string): Promise<string> => {
  const response = await post("/login", { id, password: `${id}-password` })
  assert.equal(response.status, 204)
  return response.headers.get("set-cookie")?.split(";")[0] ?? ""
}

const json = async (path: string, cookie: string) =>
  (await fetch(origin + path, { headers: { cookie } })).json()

before(async () => {
  const port = await freePort()
  origin = `http://localhost:${port}`
  await start(port)
})

after(() => stop("SIGKILL"))

describe("the shop", () => {
  let alice = ""
  let agent: { token: string; mandate: string; approval_url: string }
  const buy = (id: string, product: string) =>
    post("/purchases", { id, product }, { authorization: `Bearer ${agent.token}` })
  const usage = async () => (await json(`/mandates/v1/mandates/${agent.mandate}`, await login("sam"))).usage

  it("knows its customers by their passwords", async () => {
    assert.equal((await post("/login", { id: "alice", password: "sam-password" })).status, 401)
    assert.equal((await post("/agents", { max_amount: 2000 })).status, 401)
    alice = await login("alice")
  })

  it("lets an agent buy once the customer has approved it", async () => {
    const created = await post("/agents", { max_amount: 2000 }, { cookie: alice })
    agent = await created.json()
    assert.equal(created.status, 201, JSON.stringify(agent))
    const early = await buy("early", "novel")
    assert.equal(early.status, 403)
    assert.deepEqual((await early.json()).reasons[0].code, "MANDATE_NOT_APPROVED")
    await approveOnPage(agent.approval_url, fetch)
    assert.equal(await (await buy("order-1", "novel")).text(), "paid")
    assert.deepEqual(await json("/orders", alice), [
      { id: "order-1", product: "novel", amount: 1800, state: "paid" }
    ])
  })

  it("buys once, however often the agent asks", async () => {
    assert.equal(await (await buy("order-1", "novel")).text(), "paid")
    assert.equal((await usage()).committed_amount, 1800)
  })

  it("buys nothing beyond the mandate", async () => {
    const tooMuch = await buy("order-2", "atlas")
    assert.equal(tooMuch.status, 403)
    assert.deepEqual((await tooMuch.json()).reasons[0].code, "AMOUNT_ABOVE_MAXIMUM")
    assert.equal((await json("/orders", alice)).length, 1)
  })

  it("reserves nothing for an order that it cannot take", async () => {
    assert.equal(await (await buy("order-3", "novel")).text(), "paid")
    assert.equal((await buy("order-4", "novel")).status, 409)
    assert.equal((await json("/orders", alice)).length, 2)
    const { committed_amount, reserved_amount } = await usage()
    assert.deepEqual([committed_amount, reserved_amount], [3600, 0])
  })

  it("shows the API to its staff alone, and to them for reading", async () => {
    const mandate = `${origin}/mandates/v1/mandates/${agent.mandate}`
    assert.equal((await fetch(mandate)).status, 401)
    assert.equal((await fetch(mandate, { headers: { cookie: alice } })).status, 401)
    const sam = await login("sam")
    assert.equal((await fetch(mandate, { headers: { cookie: sam } })).status, 200)
    const revoked = await fetch(`${mandate}/revocation`, {
      method: "PUT",
      headers: { cookie: sam, "content-type": "application/json", "idempotency-key": "revoke-1" },
      body: JSON.stringify({ reason: "by staff" })
    })
    assert.equal(revoked.status, 403)
  })

  it("keeps everything over a restart", async () => {
    await stop("SIGTERM")
    assert.equal(shop.exitCode, 0)
    await start(Number(new URL(origin).port))
    assert.equal(await (await buy("order-1", "novel")).text(), "paid")
  })
})
