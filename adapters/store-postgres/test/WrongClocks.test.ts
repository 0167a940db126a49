import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { fileURLToPath } from "node:url"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { verifyEvidence } from "@svc/protocol/evidence/EvidenceEnvelope"
import { Effect, Redacted, Result } from "effect"
import { Reactivity } from "effect/reactivity"
import { makeEndUser } from "../soak/EndUser.ts"
import type { Json } from "../soak/RetryingClient.ts"
import { type FleetServer, pause } from "../soak/ServerFleet.ts"
import { type ServerAnswer, startDeployment, type TestDeployment } from "./TestDeployment.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

const MINUTE = 60_000
const DAY = 86_400_000
const SHIFT = 10 * MINUTE
/** Of an authorization: over at once on a host whose clock counted. */
const WINDOW = 5 * MINUTE
const POLL_MILLISECONDS = 20
const TIMEOUT = 120_000

const hostOf = (shift: number, timeZone: string) => ({
  nodeArguments: ["--import", fileURLToPath(new URL("./ShiftedClock.ts", import.meta.url))],
  env: { TEST_CLOCK_SHIFT_MILLISECONDS: String(shift), TZ: timeZone }
})

/** Hosts whose days begin 17.5 hours apart, and whose clocks differ by 20 minutes; between them one that is right. */
const HOSTS = [hostOf(SHIFT, "Pacific/Kiritimati"), hostOf(0, "UTC"), hostOf(-SHIFT, "America/St_Johns")]

const readClock = PgClient.make({ url: Redacted.make(server?.url ?? "") }).pipe(
  Effect.flatMap(
    (sql) => sql<{ now: string }>`select (extract(epoch from clock_timestamp()) * 1000)::text as now`
  ),
  Effect.scoped,
  Effect.provide(Reactivity.layer)
)

/** The database's clock, in milliseconds. */
const databaseNow = async (): Promise<number> => Number((await Effect.runPromise(readClock))[0]?.now)

const text = (milliseconds: number): string => new Date(milliseconds).toISOString()
const millisecondsOf = (timestamp: string): number => Date.parse(`${timestamp.slice(0, 23)}Z`)

const openingOf = (reference: string): Buffer => createHash("sha256").update(reference).digest()

const mandateBody = (subject: string, times: Json): Json => ({
  kind: "RECURRING",
  subject_reference: subject,
  policy: {
    currency: "EUR",
    max_amount: 1000,
    allowed_actions: ["card.create"],
    periods: [
      { unit: "DAY", time_zone: "Europe/Berlin", max_amount: 5000 },
      { unit: "WEEK", time_zone: "America/St_Johns", max_amount: 6000, first_period: "PRORATED" },
      { unit: "MONTH", time_zone: "Pacific/Kiritimati", alignment: "MANDATE", max_amount: 7000 }
    ]
  },
  ...times
})

const proposalBody = (reference: string, amount = 100): Json => ({
  external_reference: reference,
  proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } },
  execution_window_seconds: WINDOW / 1000,
  commitment: createHash("sha256")
    .update("svc:authorization:commitment:v1\n")
    .update(openingOf(reference))
    .digest("base64url")
})

const commitBody = (reference: string, acceptedAt: number): Json => ({
  external_action_reference: reference,
  provider_transaction_reference: reference,
  reported_accepted_at: text(acceptedAt),
  commitment_opening: openingOf(reference).toString("base64url")
})

const answered = ({ body, status }: ServerAnswer, expected: number) => {
  assert.strictEqual(status, expected, JSON.stringify(body))
  return body
}

describe.skipIf(server === undefined)("servers on hosts with wrong clocks in other time zones", () => {
  let deployment: TestDeployment
  let servers: ReadonlyArray<FleetServer>
  let begun: number
  beforeAll(async () => {
    deployment = await startDeployment(server?.url ?? "", HOSTS)
    servers = deployment.servers
    begun = await databaseNow()
  }, TIMEOUT)
  afterAll(async () => {
    await deployment?.end()
    await server?.stop()
  })

  const post = (to: FleetServer, path: string, body: Json) =>
    deployment.send(to, { method: "POST", path, body })
  const put = (to: FleetServer, path: string, body: Json) =>
    deployment.send(to, { method: "PUT", path, body })
  const get = async (from: FleetServer, path: string) =>
    answered(await deployment.send(from, { method: "GET", path }), 200)

  const create = async (to: FleetServer, subject: string, times: Json) =>
    answered(await post(to, "/v1/mandates", mandateBody(subject, times)), 201)

  /** A mandate that must be approved soon: within a second, or more on a machine that is too busy for that. */
  const createUntil = async (to: FleetServer, subject: string) => {
    for (let lead = 1000; ; lead *= 2) {
      const deadline = Math.ceil((await databaseNow()) + lead)
      const times = { window: { ends_at: text(deadline + DAY) }, approval_deadline: text(deadline) }
      const { body, status } = await post(to, "/v1/mandates", mandateBody(subject, times))
      if (status === 201) return { deadline, mandate: body }
    }
  }

  /** What every server shows at one path: one and the same. */
  const shownByAll = async (path: string) => {
    const [first, ...others] = await Promise.all(servers.map((one) => get(one, path)))
    for (const other of others) assert.deepStrictEqual(other, first)
    return first
  }

  /** Each of the servers, with what it must be called in an assertion. */
  const each = async (use: (one: FleetServer, host: string) => Promise<void>): Promise<void> => {
    for (const [at, one] of servers.entries()) await use(one, `host ${at}`)
  }

  it("really have wrong clocks", () => {
    const program = "console.log(Date.now(), new Date().getTimezoneOffset(), new Date(0).getTime())"
    const offsets = HOSTS.map(({ env, nodeArguments }) => {
      const { stdout } = spawnSync(process.execPath, [...nodeArguments, "-e", program], {
        encoding: "utf8",
        env: { ...process.env, ...env }
      })
      const [now = 0, offset = 0, epoch] = stdout.split(" ").map(Number)
      assert.strictEqual(epoch, 0)
      return [Math.round((now - Date.now()) / MINUTE) + 0, Math.sign(offset)]
    })
    assert.deepStrictEqual(offsets, [
      [10, -1],
      [0, 0],
      [-10, 1]
    ])
  })

  it(
    "compute the same periods from the same policy",
    async () => {
      const now = await databaseNow()
      const times = {
        window: { starts_at: text(now - MINUTE), ends_at: text(now + 90 * DAY) },
        approval_deadline: text(now + DAY)
      }
      const made: Array<Json> = []
      await each(async (one) => {
        const { id, policy_digest, usage } = await create(one, "periods", times)
        const { data: events } = await get(one, `/v1/mandates/${id}/events`)
        const { data: periods } = await shownByAll(`/v1/mandates/${id}/periods?limit=100`)
        assert.isAbove(periods.length, 100)
        made.push({ policy_digest, usage, periods, zones: events[0].data.time_zones })
      })
      for (const one of made) assert.deepStrictEqual(one, made[0])
    },
    TIMEOUT
  )

  it(
    "judge identity assertions by the database's clock",
    async () => {
      const now = await databaseNow()
      const ends = { window: { ends_at: text(now + DAY) } }
      const issuedAt = (milliseconds: number) => ({ issuedAt: BigInt(Math.floor(milliseconds)) * 1_000_000n })
      await each(async (one, host) => {
        const mandate = await create(one, `assertion ${host}`, ends)
        for (const wrong of [now - SHIFT, now + SHIFT]) {
          const refused = await deployment.openSession(one, mandate, issuedAt(wrong))
          assert.strictEqual(answered(refused, 422).code, "identity_assertion_invalid")
        }
        const session = answered(await deployment.openSession(one, mandate, issuedAt(now)), 201)
        const lifetime = millisecondsOf(session.expires_at) - millisecondsOf(session.created_at)
        assert.strictEqual(lifetime, 5 * MINUTE)
        assert.isTrue(await makeEndUser().approve(session.approval_url))
        assert.strictEqual((await shownByAll(`/v1/mandates/${mandate.id}`)).state, "ACTIVE")
      })
    },
    TIMEOUT
  )

  it(
    "check instants in requests against the database's clock",
    async () => {
      const now = await databaseNow()
      await each(async (one, host) => {
        const refuse = async (times: Json) =>
          answered(await post(one, "/v1/mandates", mandateBody(host, times)), 422)
        // Past on a host that is ahead, and to come on one that is behind.
        await create(one, host, { window: { ends_at: text(now + 5 * MINUTE) } })
        await refuse({ window: { ends_at: text(now - 5 * MINUTE) } })
        await refuse({ window: { ends_at: text(now + DAY) }, approval_deadline: text(now - 5 * MINUTE) })
        await create(one, host, {
          window: { starts_at: text(now - DAY + 5 * MINUTE), ends_at: text(now + DAY) }
        })
        await refuse({ window: { starts_at: text(now - DAY - 5 * MINUTE), ends_at: text(now + DAY) } })
      })
    },
    TIMEOUT
  )

  it(
    "share one lifecycle, and prove it with the same evidence",
    async () => {
      const [ahead, right, behind] = servers as [FleetServer, FleetServer, FleetServer]
      const now = await databaseNow()
      // Of a week that ends soon after the start, a prorated budget would be too small.
      const window = { starts_at: text(now - DAY + 5 * MINUTE), ends_at: text(now + 30 * DAY) }
      const mandate = await create(ahead, "lifecycle", { window })
      assert.isTrue(await deployment.approve(behind, mandate))
      const path = `/v1/mandates/${mandate.id}`
      let number = 0
      for (const [decider, reporter] of [
        [ahead, behind],
        [behind, ahead],
        [right, behind],
        [ahead, right]
      ] as const) {
        const reference = `order ${++number}`
        const decided = answered(await post(decider, `${path}/authorizations`, proposalBody(reference)), 201)
        assert.deepStrictEqual([decided.decision, decided.reasons], ["ALLOW", []])
        const granted = millisecondsOf(decided.execute_before) - millisecondsOf(decided.created_at)
        assert.strictEqual(granted, WINDOW)
        assert.isTrue((await shownByAll(`/v1/authorizations/${decided.id}`)).can_execute)
        const commit = `/v1/authorizations/${decided.id}/commit`
        const at = await databaseNow()
        answered(await put(reporter, commit, commitBody(reference, at + 8 * MINUTE)), 422)
        const accepted = await put(reporter, commit, commitBody(reference, at + 3 * MINUTE))
        assert.strictEqual(answered(accepted, 200).state, "COMMITTED")
      }
      const over = await Promise.all(
        servers.map((one, at) => post(one, `${path}/authorizations`, proposalBody(`over ${at}`, 1001)))
      )
      for (const answer of over)
        assert.strictEqual(answered(answer, 201).reasons[0].code, "AMOUNT_ABOVE_MAXIMUM")
      const { usage } = await shownByAll(path)
      assert.strictEqual(usage.committed_amount, 400)
      const keySet = await shownByAll("/.well-known/jwks.json")
      const payloads = await Promise.all(
        servers.map(async (one) => {
          const verified = verifyEvidence(await get(one, `${path}/evidence`), keySet)
          assert.isTrue(Result.isSuccess(verified))
          return Result.getOrThrow(verified).payload as {
            readonly generated_at: string
            readonly events: unknown
          }
        })
      )
      const end = await databaseNow()
      for (const { events, generated_at } of payloads) {
        assert.deepStrictEqual(events, payloads[0]?.events)
        assert.isAtLeast(millisecondsOf(generated_at), Math.floor(now))
        assert.isAtMost(millisecondsOf(generated_at), end)
      }
    },
    TIMEOUT
  )

  it(
    "see a deadline pass at the same instant",
    async () => {
      await each(async (one, host) => {
        const { deadline, mandate } = await createUntil(one, `deadline ${host}`)
        for (;;) {
          const before = await databaseNow()
          const { state } = await get(one, `/v1/mandates/${mandate.id}`)
          const after = await databaseNow()
          if (after < deadline) assert.strictEqual(state, "PENDING_APPROVAL", host)
          if (before >= deadline) assert.strictEqual(state, "EXPIRED", host)
          if (state === "EXPIRED") break
          await pause(POLL_MILLISECONDS)
        }
        const { ended_at } = await shownByAll(`/v1/mandates/${mandate.id}`)
        assert.strictEqual(millisecondsOf(ended_at), deadline, host)
      })
    },
    TIMEOUT
  )

  it("let an API key expire at the same instant", async () => {
    const now = await databaseNow()
    const [valid, expired] = [
      await deployment.addApiKey(text(now + 5 * MINUTE)),
      await deployment.addApiKey(text(now - 5 * MINUTE))
    ]
    await each(async (one, host) => {
      const request = { method: "GET", path: "/v1/mandates" } as const
      assert.strictEqual((await deployment.send(one, { ...request, apiKey: valid })).status, 200, host)
      assert.strictEqual((await deployment.send(one, { ...request, apiKey: expired })).status, 401, host)
    })
  })

  it(
    "write only the database's time, and list mandates in its order",
    async () => {
      const ids: Array<string> = []
      const ends = { window: { ends_at: text((await databaseNow()) + DAY) } }
      for (let round = 0; round < 3; round++) {
        await each(async (one) => void ids.push((await create(one, "order", ends)).id))
      }
      const listed = await shownByAll("/v1/mandates?subject_reference=order")
      assert.deepStrictEqual(
        listed.data.map(({ id }: { id: string }) => id),
        ids.toReversed()
      )
      const end = await databaseNow()
      const all = await shownByAll("/v1/mandates?limit=100")
      for (const { id } of all.data) {
        const { data } = await get(servers[1] as FleetServer, `/v1/mandates/${id}/events?limit=100`)
        for (const { occurred_at, type } of data) {
          assert.isAtLeast(millisecondsOf(occurred_at), Math.floor(begun), type)
          assert.isAtMost(millisecondsOf(occurred_at), end, type)
        }
      }
      assert.deepStrictEqual(deployment.faults, [])
    },
    TIMEOUT
  )
})
