import type { PgClient } from "@effect/sql-pg/PgClient"
import { Effect, Schedule } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { withClient } from "./TestClient.ts"
import type { TestDatabase } from "./TestPostgres.ts"
import type { WireRecorder } from "./WireRecorder.ts"

/** One step of a plan, as EXPLAIN writes it in JSON. */
export interface PlanNode {
  readonly "Node Type": string
  readonly Schema?: string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Index Cond"?: string
  readonly "Actual Rows"?: number
  readonly "Actual Loops"?: number
  readonly "Rows Removed by Filter"?: number
  readonly "Rows Removed by Index Recheck"?: number
  readonly "Shared Hit Blocks"?: number
  readonly "Shared Read Blocks"?: number
  readonly Plans?: ReadonlyArray<PlanNode>
}

/** A statement that the server ran, one within a function too, and the plan by which it ran it. */
export interface ExecutedPlan {
  readonly text: string
  readonly plan: PlanNode
}

const settings = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ")

const NOTED = {
  session_preload_libraries: "auto_explain",
  client_min_messages: "log",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_verbose": "on",
  "auto_explain.log_format": "json"
}

/** Session options by which the server answers each statement with a notice of its plan. For superusers. */
export const NOTE_PLANS = settings(NOTED)

/** The same, with the rows and buffers that each step really took. */
export const NOTE_PLANS_AND_COSTS = settings({
  ...NOTED,
  "auto_explain.log_analyze": "on",
  "auto_explain.log_buffers": "on",
  "auto_explain.log_timing": "off"
})

/** The library is not there, or not for this user. */
const CANNOT = new Set(["58P01", "42501"])

const sqlStateOf = ({ reason }: SqlError): string =>
  String((reason.cause as { code?: unknown } | undefined)?.code)

const canNotePlans = (sql: PgClient): Effect.Effect<boolean, SqlError> =>
  sql.unsafe("load 'auto_explain'").unprepared.pipe(
    Effect.as(true),
    Effect.catchIf(
      (error) => CANNOT.has(sqlStateOf(error)),
      () => Effect.succeed(false)
    ),
    // It may still be starting.
    Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 600 })
  )

/** Whether there is a server and it can note plans for this user. One that does not answer has not said that it cannot. */
export const notesPlansOn = async (server: TestDatabase | undefined): Promise<boolean> =>
  server !== undefined && Effect.runPromise(withClient(server.url, canNotePlans))

const NOTE = /^duration: [\d.]+ ms {2}plan:\n/u

/** The plans noted since the recorder was last cleared. */
export const executedPlans = (recorder: WireRecorder): ReadonlyArray<ExecutedPlan> =>
  recorder
    .notices()
    .filter((notice) => NOTE.test(notice))
    .map((notice) => {
      const noted = JSON.parse(notice.replace(NOTE, ""))
      return { text: noted["Query Text"], plan: noted.Plan }
    })

/** A plan's steps, each before those within it. */
export const planNodes = (plan: PlanNode): ReadonlyArray<PlanNode> => [
  plan,
  ...(plan.Plans ?? []).flatMap(planNodes)
]
