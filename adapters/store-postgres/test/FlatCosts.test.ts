import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { proposalBody } from "@svc/testkit/ProgramHarness"
import { Context, Effect } from "effect"
import { quoteSchema } from "../src/Migrations.ts"
import {
  type ExecutedPlan,
  executedPlans,
  NOTE_PLANS_AND_COSTS,
  notesPlansOn,
  planNodes
} from "./ExecutedPlans.ts"
import { fillMandate } from "./FilledMandate.ts"
import { growOrganization } from "./GrownOrganization.ts"
import { type History, newHistory, operationsOn } from "./MandateOperations.ts"
import { clockOf, isHistoryLook, processOn } from "./ProgramsOnPostgres.ts"
import { withClient } from "./TestClient.ts"
import { openTestDatabase } from "./TestPostgres.ts"
import { startRecorder } from "./WireRecorder.ts"

/** Authorizations behind the one mandate and behind the other. */
const FEW = 10
const MANY = 3000
/** Mandates beside the one in its organization, and beside another. */
const FEW_BESIDE = 10
const MANY_BESIDE = 6000
const EVENTS_BESIDE = 3
/** Times that everything is done while the tables are small, so that its plans are made then and kept. */
const WARMING = 7
const MEASUREMENTS = 3
/** Blocks that a statement may read more, for where rows and index entries happen to lie. */
const SLACK_BLOCKS = 12

const server = await openTestDatabase()

const notesPlans = await notesPlansOn(server)

/** Tables that grow with the history of a mandate. */
const TABLES = ["stream", "event", "authorization_row", "closed_authorization", "claim"]

/** Nothing is cleaned, and no plan made anew, while costs are measured. */
const withoutVacuum = (schema: string) =>
  withClient(server?.url ?? "", (sql) =>
    Effect.forEach(TABLES, (table) =>
      sql.unsafe(`alter table "${schema}".${table} set (autovacuum_enabled = off)`)
    )
  )

/** What one operation costs: statements sent; of each statement run the rows that its steps met; blocks in all. */
interface Cost {
  readonly sent: ReadonlyArray<string>
  readonly rows: ReadonlyArray<string>
  readonly blocks: number
}

const rowsOf = ({ plan, text }: ExecutedPlan): string => {
  // A plan made for any parameters has steps that these never reach.
  const steps = planNodes(plan)
    .filter((node) => node["Actual Loops"] !== 0)
    .map((node) => {
      const loops = node["Actual Loops"] ?? 1
      // A bitmap names entries of rows that are gone, too, until somebody cleans up; how many pages that takes is counted.
      if (node["Node Type"] === "Bitmap Index Scan") return `Bitmap Index Scan ${node["Index Name"] ?? ""}`
      const met = ((node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0)) * loops
      return `${node["Node Type"]} ${node["Index Name"] ?? ""} ${Math.round(met)}`
    })
  return `${text.replaceAll(/\s+/gu, " ").slice(0, 100)}: ${steps.join("; ")}`
}

const blocksOf = ({ plan }: ExecutedPlan): number =>
  (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0)

type Costs = ReadonlyMap<string, Cost>

/** Pages are read in passing that others left to be cleaned: the least of a few measurements counts. */
const leastBlocks = (costs: ReadonlyArray<Costs>, name: string): number =>
  Math.min(...costs.map((one) => one.get(name)!.blocks))

const assertFewBlocks = (few: ReadonlyArray<Costs>, many: ReadonlyArray<Costs>): void => {
  for (const [name, { sent }] of many[0]!) {
    const most = leastBlocks(few, name) + SLACK_BLOCKS * sent.length
    assert.isAtMost(leastBlocks(many, name), most, `blocks: ${name}`)
  }
}

/**
 * One measurement of each kind agrees. Not all must: a statement that is sent while it is being prepared has a plan of its
 * own, and the feed shows less while a transaction of the server itself, such as an ANALYZE, is under way.
 */
const assertOnceEqual = (
  few: ReadonlyArray<Costs>,
  many: ReadonlyArray<Costs>,
  of: (costs: Costs) => ReadonlyArray<string>,
  name: string
): void => {
  const expected = new Set(few.map((costs) => JSON.stringify(of(costs))))
  if (many.some((costs) => expected.has(JSON.stringify(of(costs))))) return
  assert.deepStrictEqual(of(many.at(-1)!), of(few.at(-1)!), name)
}

describe.skipIf(!notesPlans)("the costs of the operations on a mandate", () => {
  afterAll(() => server?.stop())

  it.live(
    "are the same with 10 and with 3,000 authorizations behind a mandate, and with 10 and 6,000 mandates beside it",
    () =>
      Effect.gen(function* () {
        const schema = `costs_${randomBytes(6).toString("hex")}`
        const recorder = yield* Effect.acquireRelease(
          Effect.promise(() =>
            startRecorder(server!.url, { options: NOTE_PLANS_AND_COSTS, ignored: isHistoryLook })
          ),
          (one) => Effect.promise(one.stop)
        )
        const filler = yield* processOn({ url: server!.url, schema })
        // One session each, so that every plan was made while the tables were small.
        const measured = yield* processOn({
          url: recorder.url,
          schema,
          readConnections: 1,
          readConnectionLifetime: "1 hour",
          writeConnections: 1
        })
        yield* withoutVacuum(schema)
        const now = yield* clockOf(Context.get(filler, MandateStore))
        const begin = newHistory(now, FEW).pipe(Effect.provide(filler))
        const small = yield* begin
        const large = yield* begin
        const crowded = yield* begin
        const putBeside = ({ caller, mandate }: History, mandates: number) =>
          withClient(server?.url ?? "", (sql) =>
            growOrganization(sql, {
              schema: quoteSchema(schema),
              organization: caller.organization.id,
              mandate,
              mandates,
              eventsPerMandate: EVENTS_BESIDE
            })
          )
        yield* putBeside(small, FEW_BESIDE)
        yield* putBeside(large, FEW_BESIDE)
        const costsOf = Effect.fn("costsOf")(function* (history: History) {
          const costs = new Map<string, Cost>()
          for (const [name, operation] of operationsOn(history, now)) {
            recorder.clear()
            yield* operation
            const plans = executedPlans(recorder)
            costs.set(name, {
              sent: recorder.sent().map(({ text }) => text),
              rows: plans.map(rowsOf),
              blocks: plans.reduce((sum, plan) => sum + blocksOf(plan), 0)
            })
          }
          return costs
        }, Effect.provide(measured))
        yield* Effect.replicateEffect(costsOf(small), WARMING)
        yield* fillMandate({
          organization: large.caller.organization.id,
          mandate: large.mandate,
          first: 1_000_000,
          count: MANY - FEW,
          body: (number) => proposalBody(number)
        }).pipe(Effect.provide(filler))
        yield* putBeside(crowded, MANY_BESIDE)
        const few = yield* Effect.replicateEffect(costsOf(small), MEASUREMENTS)
        for (const history of [large, crowded]) {
          const many = yield* Effect.replicateEffect(costsOf(history), MEASUREMENTS)
          for (const [name, cost] of many.at(-1)!) {
            assert.isAbove(cost.rows.length, 0, name)
            assertOnceEqual(few, many, (costs) => costs.get(name)!.sent, name)
            assertOnceEqual(few, many, (costs) => costs.get(name)!.rows, name)
          }
          assertFewBlocks(few, many)
        }
        yield* withClient(
          server?.url ?? "",
          (sql) =>
            sql.unsafe(`vacuum analyze ${TABLES.map((table) => `"${schema}".${table}`).join(", ")}`)
              .unprepared
        )
        const cleaned = yield* Effect.replicateEffect(costsOf(small), MEASUREMENTS)
        for (const history of [large, crowded]) {
          assertFewBlocks(cleaned, yield* Effect.replicateEffect(costsOf(history), MEASUREMENTS))
        }
      }),
    300_000
  )
})
