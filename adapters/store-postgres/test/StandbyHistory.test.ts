import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { pause } from "../soak/ServerFleet.ts"
import { ROOT, SVC } from "../soak/ServerProgram.ts"
import { type ServerRequest, startDeployment, type TestDeployment } from "./TestDeployment.ts"
import { startTestPostgres } from "./TestPostgres.ts"
import { rowOf, startAddress, startStandby, type TestAddress, type TestStandby } from "./TestStandby.ts"

/*
 * A primary is lost and a standby takes its place at the same address, while the server process keeps running: first an
 * asynchronous one, which lacks the last of what was acknowledged, then a synchronous one.
 */

const primary = await startTestPostgres()

const TIMEOUT_MILLISECONDS = 300_000
const POLL_MILLISECONDS = 50
const POLLS = 1200

const DAY_MILLISECONDS = 86_400_000

const COMMAND_MILLISECONDS = 60_000

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

const newAuthorization = (mandate: string) => ({
  method: "POST" as const,
  path: `/v1/mandates/${mandate}/authorizations`,
  body: {
    external_reference: "order-1",
    execution_window_seconds: 900,
    proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
    commitment: createHash("sha256").update("svc:authorization:commitment:v1\n").digest("base64url")
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

const svc = async (store: string, ...words: ReadonlyArray<string>) => {
  const { stdout } = await promisify(execFile)(process.execPath, [SVC, ...words], {
    cwd: ROOT,
    env: { ...leastEnvironment(), SVC_ENVIRONMENT: "test", SVC_STORE: store }
  })
  return JSON.parse(stdout)
}

/** What a command prints that exits with this code. */
const endingWith =
  (exitCode: number) =>
  (env: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>): Promise<string> =>
    new Promise((resolve, reject) => {
      const options = { cwd: ROOT, env: { ...leastEnvironment(), ...env }, timeout: COMMAND_MILLISECONDS }
      execFile(process.execPath, [SVC, ...words], options, (error, stdout, stderr) =>
        error?.code === exitCode
          ? resolve(stdout + stderr)
          : reject(new Error(`${error?.code}: ${stdout}${stderr}`))
      )
    })

/** What a command prints that found something. */
const found = endingWith(1)

/** What a command prints that a setting keeps from running. */
const refused = endingWith(78)

describe.skipIf(primary?.own === undefined)("a deployment whose standby replaces the primary", () => {
  const endings: Array<() => Promise<void>> = []
  let address: TestAddress
  let deployment: TestDeployment
  let promoted: TestStandby

  beforeAll(async () => {
    endings.push(() => primary!.stop())
    address = await startAddress(primary!.url)
    endings.push(() => address.stop())
    deployment = await startDeployment(address.url, [{}])
    endings.push(() => deployment.end())
  }, TIMEOUT_MILLISECONDS)

  afterAll(async () => {
    for (const end of endings.reverse()) await end()
  })

  const serverUrl = () => deployment.servers[0]!.url
  const send = (request: ServerRequest) => deployment.send(deployment.servers[0]!, request)

  const create = async (number: number): Promise<string> => {
    const { body, status } = await deployment.insist(deployment.servers[0]!, newMandate(number))
    assert.strictEqual(status, 201, JSON.stringify(body))
    return body.id
  }

  const untilLogged = async (text: string): Promise<string> => {
    for (let poll = 0; poll < POLLS; poll++) {
      const line = deployment.faults.find((fault) => fault.includes(text))
      if (line !== undefined) return line
      await pause(POLL_MILLISECONDS)
    }
    throw new Error(`never logged: ${text}`)
  }

  const feedEnd = async (): Promise<string> => (await send(get("/v1/events?limit=100"))).body.next_cursor

  const follow = async (url: string, options: { readonly synchronous: boolean }) => {
    const standby = await startStandby({ url }, options)
    endings.push(() => standby.stop())
    return standby
  }

  const assertRefusedForGood = async (cursor: string) => {
    const { body, status } = await send(get(`/v1/events?after=${cursor}`))
    assert.deepStrictEqual([status, body.code], [400, "invalid_cursor"])
    assert.match(body.detail, /^The history that this cursor was given in .* Begin again without it/u)
  }

  it("reports possible loss until an operator acknowledges it, and refuses earlier cursors", {
    timeout: TIMEOUT_MILLISECONDS
  }, async () => {
    const used = await create(0)
    assert.isTrue(await deployment.approve(deployment.servers[0]!, { id: used, subject_reference: "user_0" }))
    for (let number = 1; number < SURVIVING; number++) await create(number)
    const survivingCursor = await feedEnd()
    promoted = await follow(primary!.url, { synchronous: false })
    await promoted.catchUp()
    await promoted.disconnect()
    const lost: Array<string> = []
    for (let number = 0; number < LOST; number++) lost.push(await create(number))
    const of = ["--organization", deployment.tenant.organization_id]
    await svc(primary!.url, "api-key", "list", ...of)
    const { api_key_id } = await svc(primary!.url, "api-key", "create", ...of, "--scope", "read")
    await svc(primary!.url, "api-key", "revoke", ...of, "--api-key", api_key_id)
    const authorized = await send(newAuthorization(used))
    assert.strictEqual(authorized.body.decision, "ALLOW", JSON.stringify(authorized.body))
    const lostCursor = await feedEnd()
    const data = await rowOf(primary!.url, "select current_setting('data_directory') as folder")
    await primary!.own!.crash()
    await promoted.promote()
    address.moveTo(promoted.url)

    assert.match(
      await untilReadiness(serverUrl(), 503),
      /svc store acknowledge-history .* Of the 5 mandates that this process recorded to last, 3 lack acknowledged events/u
    )
    for (const [mandate, events, has] of [...lost.map((one) => [one, 1, 0]), [used, 3, 2]]) {
      const line = await untilLogged(`"mandate_id":"${mandate}"`)
      assert.include(line, "acknowledged events of a mandate are missing from the store")
      assert.match(line, new RegExp(`"acknowledged_events":${events},.*"found_events":${has}`, "u"))
    }
    for (const cursor of ["", `?after=${lostCursor}`, `?after=${survivingCursor}`]) {
      assert.strictEqual((await send(get(`/v1/events${cursor}`))).status, 503)
    }
    assert.strictEqual((await send(newMandate(9))).status, 503)
    assert.strictEqual((await send(get(`/v1/mandates/${lost[0]}`))).status, 404)
    assert.lengthOf((await send(get("/v1/mandates"))).body.data, SURVIVING)

    // The lost primary, started so that it takes no writes.
    writeFileSync(join(String(data?.folder), "standby.signal"), "")
    await primary!.own!.start()
    const both = { SVC_STORE: address.url, SVC_OTHER_STORE: primary!.url }
    const missing = JSON.parse(await found(both, "store", "missing", "--json"))
    const organization_id = deployment.tenant.organization_id
    assert.deepStrictEqual(missing.organizations, [
      { organization_id, mandates: 3, missing_mandates: 2, missing_events: 3, authorizations: 1 }
    ])
    assert.sameMembers(
      missing.mandates.map(({ mandate_id: id }: { readonly mandate_id: string }) => id),
      [...lost, used]
    )
    assert.deepStrictEqual(missing.authorizations, [
      {
        organization_id,
        mandate_id: used,
        authorization_id: authorized.body.id,
        state_there: "RESERVED",
        state_here: null
      }
    ])
    assert.deepStrictEqual(
      missing.operator_commands.map(
        ({ at: _, operator: __, ...command }: Record<string, unknown>) => command
      ),
      [
        { organization_id, command: "api-key create", arguments: [...of, "--scope", "read"] },
        { organization_id, command: "api-key revoke", arguments: [...of, "--api-key", api_key_id] }
      ]
    )
    assert.match(missing.operator_commands[0].at, /^20\d\d-.*Z$/u)
    const text = await found(both, "store", "missing")
    assert.match(
      text,
      new RegExp(`^20\\S+Z +\\S+ +api-key revoke +${of.join(" ")} --api-key ${api_key_id} `, "mu")
    )
    assert.match(text, new RegExp(`^${authorized.body.id} +RESERVED +missing$`, "mu"))
    const doctor = JSON.parse(await found(both, "doctor", "--json"))
    const [told] = doctor.checks.filter(
      ({ check }: { readonly check: string }) => check === "history.missing"
    )
    assert.match(told.found, /has events of 3 mandates .*, 1 authorization and 2 commands of operators/u)

    // A standby of the promoted server has what that has, whatever was lost.
    const copy = await follow(promoted.url, { synchronous: false })
    const withCopy = { SVC_STORE: address.url, SVC_OTHER_STORE: copy.url }
    assert.match(await refused(withCopy, "store", "missing"), /is a standby that follows a primary/u)
    await copy.disconnect()
    assert.isTrue(JSON.parse(await found(withCopy, "store", "missing", "--json")).other_may_be_copy)
    assert.match(await found(withCopy, "store", "missing"), /^it cannot be told whether anything is missing/u)

    const begun = await svc(address.url, "store", "acknowledge-history", "--json")
    assert.deepInclude(begun, { outcome: "begun", lossless: false })
    await untilReadiness(serverUrl(), 200)
    for (let number = 0; number <= LOST; number++) {
      await create(number)
      await assertRefusedForGood(lostCursor)
      await assertRefusedForGood(survivingCursor)
    }
    const { body } = await send(get("/v1/events"))
    const approvals = 1
    assert.lengthOf(body.data, SURVIVING + approvals + LOST + 1)
    assert.strictEqual((await send(get(`/v1/events?after=${body.next_cursor}`))).status, 200)
    const changes = deployment.faults.filter((fault) => fault.includes("the history of the store changed"))
    assert.lengthOf(changes, 1)
    assert.match(changes[0]!, /"level":"error".*"recorded_on":"\d+\/00000001","found_on":"\d+\/00000002"/u)
  })

  it("continues with earlier cursors when its operator knows that nothing is lost", {
    timeout: TIMEOUT_MILLISECONDS
  }, async () => {
    const standby = await follow(promoted.url, { synchronous: true })
    const mandate = await create(1)
    const cursor = await feedEnd()
    await promoted.crash()
    await standby.promote()
    address.moveTo(standby.url)
    await untilReadiness(serverUrl(), 503)
    const begun = await svc(address.url, "store", "acknowledge-history", "--lossless")
    assert.deepInclude(begun, { outcome: "begun", lossless: true })
    await untilReadiness(serverUrl(), 200)
    assert.strictEqual((await send(get(`/v1/mandates/${mandate}`))).status, 200)
    const next = await create(2)
    const { body } = await send(get(`/v1/events?after=${cursor}`))
    assert.deepStrictEqual(
      body.data.map((event: { readonly mandate_id: string }) => event.mandate_id),
      [next]
    )
  })
})
