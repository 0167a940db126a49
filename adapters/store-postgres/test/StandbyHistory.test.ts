import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { afterAll, assert, describe, it } from "vitest"
import { pause } from "../soak/ServerFleet.ts"
import { ROOT, SVC } from "../soak/ServerProgram.ts"
import { startDeployment, type TestDeployment } from "./TestDeployment.ts"
import { startTestPostgres } from "./TestPostgres.ts"
import { startAddress, startStandby } from "./TestStandby.ts"

/*
 * A primary is lost, and an asynchronous standby takes its place that lacks the last of what was acknowledged. The server
 * process keeps running: what it is connected to is another history.
 */

const primary = await startTestPostgres()

const TIMEOUT_MILLISECONDS = 120_000
const POLL_MILLISECONDS = 50
const POLLS = 600

const DAY_MILLISECONDS = 86_400_000

const LOST = 2
const SURVIVING = 3

const newMandate = (number: number) => ({
  method: "POST" as const,
  path: "/v1/mandates",
  body: {
    kind: "SINGLE",
    subject_reference: `user_${number}`,
    policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
    window: { ends_at: new Date(Date.now() + DAY_MILLISECONDS).toISOString() }
  }
})

const get = (path: string) => ({ method: "GET" as const, path })

/** Waits for `GET /readyz` to answer so; gives what it says. */
const untilReadiness = async (url: string, status: number): Promise<string> => {
  for (let poll = 0; poll < POLLS; poll++) {
    const answer = await fetch(`${url}/readyz`)
    const text = await answer.text()
    if (answer.status === status && !text.includes("cannot be reached")) return text
    await pause(POLL_MILLISECONDS)
  }
  throw new Error(`/readyz never answered ${status}`)
}

describe.skipIf(primary?.own === undefined)("a store that lost the end of its history at a failover", () => {
  const endings: Array<() => Promise<void>> = []
  afterAll(async () => {
    for (const end of endings.reverse()) await end()
  })

  const svc = async (store: string, ...words: ReadonlyArray<string>) => {
    const { stdout } = await promisify(execFile)(process.execPath, [SVC, ...words], {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? "", SVC_STORE: store }
    })
    return JSON.parse(stdout)
  }

  const failOver = async () => {
    endings.push(() => primary!.stop())
    const address = await startAddress(primary!.url)
    endings.push(() => address.stop())
    const deployment = await startDeployment(address.url, [{ env: { SVC_LOG_LEVEL: "error" } }])
    endings.push(() => deployment.end())
    const { insist, servers, send } = deployment
    const server = servers[0]!
    const create = async (number: number) => {
      const { body, status } = await insist(server, newMandate(number))
      assert.strictEqual(status, 201, JSON.stringify(body))
      return body.id as string
    }
    const feedEnd = async () => (await send(server, get("/v1/events?limit=100"))).body.next_cursor as string

    for (let number = 0; number < SURVIVING; number++) await create(number)
    const survivingCursor = await feedEnd()
    const standby = await startStandby(primary!)
    endings.push(() => standby.stop())
    await standby.catchUp()
    await standby.disconnect()
    const lost: Array<string> = []
    for (let number = 0; number < LOST; number++) lost.push(await create(number))
    const lostCursor = await feedEnd()
    await primary!.own!.crash()
    await standby.promote()
    address.moveTo(standby.url)
    return { address, create, deployment, lost, lostCursor, server, survivingCursor }
  }

  const refusedForGood = async ({ send, servers }: TestDeployment, cursor: string) => {
    const { body, status } = await send(servers[0]!, get(`/v1/events?after=${cursor}`))
    assert.deepStrictEqual([status, body.code], [400, "invalid_cursor"])
    assert.match(body.detail, /^The history that this cursor was given in .* Begin again without it/u)
  }

  it("says so until an operator acknowledges it, and takes no cursor of before again", {
    timeout: TIMEOUT_MILLISECONDS
  }, async () => {
    const { address, create, deployment, lost, lostCursor, server, survivingCursor } = await failOver()
    const { faults, send } = deployment

    assert.match(await untilReadiness(server.url, 503), /svc store acknowledge-history/u)
    for (const cursor of ["", `?after=${lostCursor}`, `?after=${survivingCursor}`]) {
      assert.strictEqual((await send(server, get(`/v1/events${cursor}`))).status, 503)
    }
    assert.strictEqual((await send(server, newMandate(9))).status, 503)
    assert.strictEqual((await send(server, get(`/v1/mandates/${lost[0]}`))).status, 404)
    assert.lengthOf((await send(server, get("/v1/mandates"))).body.data, SURVIVING)

    const begun = await svc(address.url, "store", "acknowledge-history", "--json")
    assert.deepInclude(begun, { outcome: "begun", lossless: false })
    await untilReadiness(server.url, 200)
    for (let number = 0; number <= LOST; number++) {
      await create(number)
      await refusedForGood(deployment, lostCursor)
      await refusedForGood(deployment, survivingCursor)
    }
    const { body } = await send(server, get("/v1/events"))
    assert.lengthOf(body.data, SURVIVING + LOST + 1)
    assert.strictEqual((await send(server, get(`/v1/events?after=${body.next_cursor}`))).status, 200)
    const told = faults.filter((fault) => fault.includes("the history of the store changed"))
    assert.lengthOf(told, 1)
    assert.match(told[0]!, /"level":"error".*"recorded_on":"\d+\/00000001","found_on":"\d+\/00000002"/u)
  })
})
