import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import type { Instant } from "@svc/protocol/Timestamp"
import { proposalBody } from "@svc/testkit/ProgramHarness"
import { Context, Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { quoteSchema } from "../../src/Migrations.ts"
import { fillMandate } from "../../test/FilledMandate.ts"
import { growOrganization } from "../../test/GrownOrganization.ts"
import { type History, newHistory } from "../../test/MandateOperations.ts"
import { clockOf, processOn } from "../../test/ProgramsOnPostgres.ts"
import { type Cost, type Costs, measure, openSessions } from "./OperationCosts.ts"

const FEW_AUTHORIZATIONS = 10
const MANY_AUTHORIZATIONS = 9000
const FEW_MANDATES = 100
const MANY_MANDATES = 100_000
const EVENTS_PER_MANDATE = 10

const TABLES = ["stream", "event", "authorization_row", "closed_authorization", "claim"]

const HISTORIES = ["fresh", "few", "many", "crowded"] as const

type Measured = Readonly<Record<(typeof HISTORIES)[number], Costs>>

const TITLES: Readonly<Record<(typeof HISTORIES)[number], string>> = {
  fresh: "new tables",
  few: "10 authorizations",
  many: "9,000",
  crowded: "100,000 mandates"
}

const sumOf = (costs: Costs, unit: keyof Cost): number =>
  [...costs.values()].reduce((sum, cost) => sum + cost[unit], 0)

/** The ratio of all operations together, and the largest with the operation that has it. */
const ratioOf = (costs: Costs, to: Costs, unit: keyof Cost): string => {
  const ratios = [...costs].map(([name, cost]) => [name, cost[unit] / to.get(name)![unit]] as const)
  const [name, ratio] = ratios.toSorted(([, one], [, other]) => other - one)[0]!
  return `${(sumOf(costs, unit) / sumOf(to, unit)).toFixed(2)} (at most ${ratio.toFixed(2)}: ${name})`
}

const print = (say: (line: string) => void, title: string, measured: Measured): void => {
  say(`\n${title}: processor time of the server in microseconds, and buffers`)
  say(`${"".padEnd(28)}${HISTORIES.map((one) => TITLES[one].padStart(19)).join("")}`)
  for (const name of measured.fresh.keys()) {
    const cells = HISTORIES.map((one) => measured[one].get(name)!).map(
      ({ buffers, time }) => time.toFixed(1).padStart(11) + buffers.toFixed(1).padStart(8)
    )
    say(`${name.padEnd(28)}${cells.join("")}`)
  }
  const { crowded, few, fresh, many } = measured
  for (const unit of ["buffers", "time"] as const) {
    const ratios = [
      `authorizations=${ratioOf(many, few, unit)}`,
      `mandates=${ratioOf(crowded, few, unit)}`,
      `filled=${ratioOf(few, fresh, unit)}`
    ]
    say(`${unit} ${ratios.join(" ")}`)
  }
}

/** A schema whose tables nobody cleans or analyzes while they are measured, with a process that fills it. */
const newSchema = (client: PgClient.PgClient, url: string) =>
  Effect.gen(function* () {
    const schema = `history_${randomBytes(6).toString("hex")}`
    const quoted = quoteSchema(schema)
    const filler = yield* processOn({ url, schema })
    for (const table of TABLES) {
      yield* client.unsafe(`alter table ${quoted}.${table} set (autovacuum_enabled = off)`).unprepared
    }
    const now = yield* clockOf(Context.get(filler, MandateStore))
    return { url, schema, quoted, filler, now }
  })

type Schema = Effect.Success<ReturnType<typeof newSchema>>

const begin = ({ filler, now }: Schema) => Effect.provide(newHistory(now, FEW_AUTHORIZATIONS), filler)

const fill = (
  client: PgClient.PgClient,
  { filler, quoted }: Schema,
  { crowded, few, many }: Readonly<Record<"few" | "many" | "crowded", History>>
) =>
  Effect.gen(function* () {
    for (const [{ caller, mandate }, mandates] of [
      [few, FEW_MANDATES],
      [many, FEW_MANDATES],
      [crowded, MANY_MANDATES]
    ] as const) {
      const organization = caller.organization.id
      const growth = { schema: quoted, organization, mandate, mandates, eventsPerMandate: EVENTS_PER_MANDATE }
      yield* growOrganization(client, growth)
    }
    yield* fillMandate({
      organization: many.caller.organization.id,
      mandate: many.mandate,
      first: 1_000_000,
      count: MANY_AUTHORIZATIONS - FEW_AUTHORIZATIONS,
      body: (number) => proposalBody(number)
    }).pipe(Effect.provide(filler))
    yield* client.unsafe("checkpoint").unprepared
  })

/**
 * Prints what each operation costs the server with little and with much behind it: in sessions that made their plans while
 * the tables were new, and in sessions that began when they were full and analyzed. New tables are measured beside them.
 */
export const historyBench = (url: string, say: (line: string) => void): Effect.Effect<void, unknown> =>
  Effect.scoped(
    Effect.gen(function* () {
      const client = yield* PgClient.make({
        url: Redacted.make(url),
        startupParameters: { statement_timeout: "0" }
      })
      const small = yield* newSchema(client, url)
      const large = yield* newSchema(client, url)
      const now: Instant = large.now
      const fresh = yield* begin(small)
      const histories = { few: yield* begin(large), many: yield* begin(large), crowded: yield* begin(large) }
      const subjectsOf = (
        filled: Effect.Success<typeof opened>,
        untouched: Effect.Success<typeof opened>
      ) => ({
        fresh: { history: fresh, sessions: untouched },
        few: { history: histories.few, sessions: filled },
        many: { history: histories.many, sessions: filled },
        crowded: { history: histories.crowded, sessions: filled }
      })
      const opened = openSessions(client, large, histories.few, now)
      const untouched = yield* openSessions(client, small, fresh, now)
      const older = yield* opened
      yield* fill(client, large, histories)
      print(say, "sessions from before", yield* measure(subjectsOf(older, untouched), now))
      const tables = TABLES.map((table) => `${large.quoted}.${table}`).join(", ")
      yield* client.unsafe(`vacuum analyze ${tables}`).unprepared
      yield* client.unsafe("checkpoint").unprepared
      print(say, "new sessions", yield* measure(subjectsOf(yield* opened, untouched), now))
    })
  ).pipe(Effect.provide(Reactivity.layer))
