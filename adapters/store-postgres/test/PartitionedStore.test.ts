import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { storeContract } from "@svc/testkit/StoreContract"
import { Effect, Layer, Redacted } from "effect"
import { CallTimeout } from "../src/connection/StoreFault.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import {
  type ExecutedPlan,
  executedPlans,
  NOTE_PLANS_AND_COSTS,
  notesPlansOn,
  planNodes
} from "./ExecutedPlans.ts"
import { withClient } from "./TestClient.ts"
import { openTestDatabase } from "./TestPostgres.ts"
import { startRecorder } from "./WireRecorder.ts"

/*
 * The contract on tables that are divided by organization. What was really read is looked at afterwards: a statement of a
 * request, and each statement within a function, reads one partition of each table, and the same of all tables.
 */

const PARTITIONS = 5

/** What workers look for in all organizations: what is due, and what dead workers left. */
const ACROSS_ORGANIZATIONS: ReadonlyArray<RegExp> = [
  /where [sw]\.wake_at <= v_clock and/u,
  /\.organization > o_next/u,
  /where d\.queue = 'due'\s+(?:order by |and \()d\.endpoint, d\.organization/u,
  /where d\.open_token is not null and d\.open_expires_at <=/u,
  /where l\.queue = 'later' and l\.next_attempt_at <= v_clock/u
]

/** Statements that many organizations share: results of attempts, and what was leased for several of them. */
const SEVERAL_ORGANIZATIONS: ReadonlyArray<RegExp> = [
  /unnest\(v_organizations, v_endpoints/u,
  /unnest\(v_picked_organizations, v_picked_endpoints/u,
  /unnest\(p_places::bigint\[\], p_deliveries/u
]

const server = await openTestDatabase()
const schema = `parts_${randomBytes(6).toString("hex")}`

const notesPlans = await notesPlansOn(server)
const recorder =
  server === undefined
    ? undefined
    : await startRecorder(server.url, { options: notesPlans ? NOTE_PLANS_AND_COSTS : "" })

const options = (url: string | undefined) => ({
  url: Redacted.make(url ?? ""),
  schema,
  partitions: PARTITIONS
})

// The steps of the schema are no requests, so they are not recorded.
if (server !== undefined) await Effect.runPromise(PostgresStore.migrateServer(options(server.url)))

const store = () => PostgresStore.layer({ ...options(recorder?.url), migrations: "run" })

/** The partitions that a statement read or wrote, by table. Those that were left out as it ran have no loops. */
const partitionsIn = ({ plan }: ExecutedPlan): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>()
  for (const node of planNodes(plan)) {
    const [, table, number] = /^(.+)_p(\d+)$/u.exec(node["Relation Name"] ?? "") ?? []
    if (node.Schema !== schema || table === undefined || number === undefined) continue
    if (node["Actual Loops"] === 0 || node["Node Type"] === "ModifyTable") continue
    found.set(table, (found.get(table) ?? new Set()).add(number))
  }
  return found
}

/** Statements that read more than one partition in all, without their line breaks. */
const scattered = (plans: ReadonlyArray<ExecutedPlan>) =>
  plans
    .filter((executed) => new Set([...partitionsIn(executed).values()].flatMap((one) => [...one])).size > 1)
    .map(({ text }) => text.replaceAll(/\s+/gu, " "))

const isListed = (text: string, forms: ReadonlyArray<RegExp>): boolean =>
  forms.some((form) => form.test(text))

describe.skipIf(server === undefined)("on a server with tables divided by organization", () => {
  storeContract(
    "PostgresStore in partitions",
    () => Layer.merge(store(), Layer.succeed(CallTimeout, "2 minutes")),
    { clock: "live" }
  )

  describe.skipIf(!notesPlans)("the statements that the store sends", () => {
    afterAll(async () => {
      await recorder?.stop()
      await server?.stop()
    })

    it.live("read one partition each, except for what workers look for in all organizations", () =>
      Effect.sync(() => {
        const plans = executedPlans(recorder!)
        const tables = new Set(plans.flatMap((executed) => [...partitionsIn(executed).keys()]))
        assert.includeMembers(
          [...tables],
          ["approval_session", "authorization_row", "claim", "event", "stream", "subject", "webhook_delivery"]
        )
        const across = [...new Set(scattered(plans))]
        const listed = [...ACROSS_ORGANIZATIONS, ...SEVERAL_ORGANIZATIONS]
        assert.deepStrictEqual(
          across.filter((text) => !isListed(text, listed)),
          []
        )
        for (const form of ACROSS_ORGANIZATIONS) assert.isTrue(isListed(across.join("\n"), [form]), `${form}`)
      })
    )

    it.live("would be found if they read several partitions", () =>
      Effect.gen(function* () {
        recorder!.clear()
        yield* withClient(recorder!.url, (sql) =>
          sql.unsafe(`select count(*) from ${schema}.stream where mandate >= ''`)
        )
        assert.lengthOf(scattered(executedPlans(recorder!)), 1)
      })
    )

    it.live("meet more than one partition between them", () =>
      Effect.gen(function* () {
        const used = yield* withClient(server!.url, (sql) =>
          sql.unsafe<{ readonly partition: string }>(
            `select distinct tableoid::regclass::text as partition from ${schema}.stream`
          )
        )
        assert.isAbove(used.length, 1)
      })
    )
  })
})
