import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { formatInstant } from "@svc/protocol/Timestamp"
import { replayJournal, snapshotFaults } from "@svc/testkit/JournalReplay"
import { commitReport, proposalBody, recurringBody, storedJournal } from "@svc/testkit/ProgramHarness"
import { DAY } from "@svc/testkit/StoreFixtures"
import { Effect, Result } from "effect"
import { newCaller, processOn, roomyBody } from "./ProgramsOnPostgres.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

const PROCESSES = 3
const PROPOSALS = 60
const AMOUNT = 1000
const BUDGET = 20_000
const CLIENTS = 64
const CLIENTS_OF_ONE = 32
const PAIRS_PER_CLIENT = 12

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

const atOnce = { concurrency: "unbounded" } as const

describe.skipIf(server === undefined)("several processes on one Postgres", () => {
  afterAll(() => server?.stop())

  it.live("overspend no budget, end each authorization once, and leave a complete journal", () =>
    Effect.gen(function* () {
      const schema = `races_${randomBytes(6).toString("hex")}`
      const processes = yield* Effect.all(
        numbers(PROCESSES).map(() => processOn({ url: server!.url, schema }))
      )
      const caller = newCaller()
      const organization = caller.organization.id
      const on = (number: number) => Effect.provide(processes[number % PROCESSES]!)
      const loadNow = Effect.flatMap(MandateStore, (store) => store.load({ organization }))
      const { now } = yield* loadNow.pipe(on(0))
      const policy = { max_total_amount: BUDGET, periods: [{ unit: "MONTH", max_amount: 1_000_000 }] }
      const body = recurringBody(policy, { window: { ends_at: formatInstant(now + 30n * DAY) } })

      const created = yield* Effect.forEach(
        numbers(CLIENTS),
        (client) => caller.create(body, "one-key").pipe(on(client)),
        atOnce
      )
      const mandate = created[0]!.resource.id
      assert.deepStrictEqual([...new Set(created.map(({ resource }) => resource.id))], [mandate])
      yield* caller.approve(mandate).pipe(on(1))

      const proposed = yield* Effect.forEach(
        numbers(PROPOSALS),
        (number) => caller.propose(mandate, proposalBody(number, AMOUNT)).pipe(on(number)),
        atOnce
      )
      const reserved = proposed.flatMap(({ resource }, number) =>
        resource.state === "RESERVED" ? [{ id: resource.id, number }] : []
      )
      assert.strictEqual(reserved.length, BUDGET / AMOUNT)

      const report = { reported_accepted_at: formatInstant(now) }
      const outcomes = yield* Effect.forEach(
        reserved.flatMap((one) => [
          { ...one, kind: "commit" as const },
          { ...one, kind: "cancel" as const }
        ]),
        ({ id, kind, number }, index) =>
          Effect.result(
            kind === "commit" ? caller.commit(id, commitReport(number, report)) : caller.cancel(id)
          ).pipe(on(index)),
        atOnce
      )
      const wins = outcomes.filter(Result.isSuccess).length
      assert.strictEqual(wins, reserved.length)

      const texts = yield* storedJournal(organization, mandate).pipe(on(2))
      const replayed = replayJournal(texts)
      const terminal = texts
        .map((text) => JSON.parse(text))
        .filter(({ type }) => type === "authorization.committed" || type === "authorization.cancelled")
      assert.strictEqual(terminal.length, reserved.length)
      assert.strictEqual(new Set(terminal.map((event) => event.authorization_id)).size, reserved.length)
      const stored = yield* Effect.flatMap(MandateStore, (store) =>
        store.load({ organization, stream: { mandate } })
      ).pipe(on(0))
      const { head, state } = stored.stream!
      assert.deepStrictEqual(snapshotFaults(replayed, { ...state, head }), [])
    })
  )

  it.live("starve no client of a mandate that all of them use, and refuse none", () =>
    Effect.gen(function* () {
      const schema = `races_${randomBytes(6).toString("hex")}`
      const processes = yield* Effect.all([1, 2].map(() => processOn({ url: server!.url, schema })))
      const caller = newCaller()
      const on = (number: number) => Effect.provide(processes[number % 2]!)
      const organization = caller.organization.id
      const { now } = yield* Effect.flatMap(MandateStore, (store) => store.load({ organization })).pipe(on(0))
      const { resource: mandate } = yield* caller.create(roomyBody(now)).pipe(on(0))
      yield* caller.approve(mandate.id).pipe(on(0))
      const report = { reported_accepted_at: formatInstant(now) }
      const done = new Map<number, number>()
      let whenFirstEnds: ReadonlyArray<number> | undefined
      const client = Effect.fnUntraced(function* (number: number) {
        for (let pair = 1; pair <= PAIRS_PER_CLIENT; pair++) {
          const own = number * PAIRS_PER_CLIENT + pair
          const { resource } = yield* caller.propose(mandate.id, proposalBody(own, 1)).pipe(on(number))
          // Sent to the other process, which has not seen the authorization.
          yield* caller.commit(resource.id, commitReport(own, report)).pipe(on(number + pair))
          done.set(number, pair)
        }
        whenFirstEnds ??= [...done.values()]
      })
      yield* Effect.forEach(numbers(CLIENTS_OF_ONE), client, atOnce)
      assert.lengthOf(whenFirstEnds!, CLIENTS_OF_ONE)
      assert.isAtLeast(Math.min(...whenFirstEnds!), PAIRS_PER_CLIENT / 3)
    })
  )
})
