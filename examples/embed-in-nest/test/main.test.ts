import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { after, before, describe, it } from "node:test"
import { approveOnPage } from "@svc/testkit/ApproveOnPage"

const SERVER = new URL("../src/main.js", import.meta.url).pathname

let server: ChildProcess
let origin = ""

const freePort = async (): Promise<number> => {
  const listening = createServer().listen(0, "localhost")
  await once(listening, "listening")
  const address = listening.address()
  listening.close()
  await once(listening, "close")
  return typeof address === "object" && address !== null ? address.port : 0
}

const post = async (path: string, body: object) => {
  const response = await fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  return { status: response.status, body: await response.json() }
}

before(async () => {
  const port = await freePort()
  origin = `http://localhost:${port}`
  const env = { ...process.env, PORT: String(port) }
  server = spawn(process.execPath, [SERVER], { env, stdio: ["ignore", "pipe", "inherit"] })
  const [line] = await Promise.race([once(server.stdout!, "data"), once(server, "exit")])
  assert.match(String(line), /the shop is at/)
})

after(async () => {
  const ended = once(server, "exit")
  server.kill("SIGKILL")
  await ended
})

describe("the shop on Nest", () => {
  it("serves its own pages beside the service", async () => {
    assert.equal(await (await fetch(`${origin}/`)).text(), "The shop.\n")
    assert.equal((await fetch(`${origin}/mandates/healthz`)).status, 200)
    assert.equal((await fetch(`${origin}/mandates/docs`)).status, 200)
    assert.equal((await fetch(`${origin}/mandates/v1/mandates`)).status, 401)
  })

  it("buys what the customer has approved, and nothing beyond it", async () => {
    assert.equal((await post("/allowances", { max_amount: 5000, session: "none" })).status, 401)
    const { session } = (await post("/login", { customer: "alice" })).body
    const { approval_url, mandate } = (await post("/allowances", { max_amount: 5000, session })).body
    const buy = async (order: string, amount: number) => {
      const { body, status } = await post("/purchases", { mandate, order, amount })
      return [status, body.state, ...body.reasons.map(({ code }: { code: string }) => code)]
    }
    assert.deepEqual(await buy("order-0", 4200), [403, "DENIED", "MANDATE_NOT_APPROVED"])
    await approveOnPage(approval_url, fetch)
    assert.deepEqual(await buy("order-1", 5001), [403, "DENIED", "AMOUNT_ABOVE_MAXIMUM"])
    assert.deepEqual(await buy("order-2", 4200), [201, "COMMITTED"])
    assert.deepEqual(await buy("order-3", 4200), [403, "DENIED", "MANDATE_CONSUMED"])
  })

  it("says what is wrong with a purchase", async () => {
    const { body, status } = await post("/purchases", {
      mandate: "mnd_00000000000000000000000000",
      order: "order-4",
      amount: 1
    })
    assert.deepEqual([status, body.code], [404, "not_found"])
  })
})
