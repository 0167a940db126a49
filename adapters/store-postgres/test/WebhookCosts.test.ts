import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { type LeasedDelivery, WebhookStore } from "@svc/domain/ports/WebhookStore"
import { finishAttempt } from "@svc/domain/webhook/WebhookDelivery"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { newEndpoint } from "@svc/testkit/store-contract/WebhooksUnderTest"
import { Context, Effect } from "effect"
import { quoteSchema } from "../src/Migrations.ts"
import { executedPlans, NOTE_PLANS_AND_COSTS, notesPlansOn } from "./ExecutedPlans.ts"
import { clockOf, isHistoryLook, processOn } from "./ProgramsOnPostgres.ts"
import { withClient } from "./TestClient.ts"
import { startTestPostgres } from "./TestPostgres.ts"
import { startRecorder } from "./WireRecorder.ts"

const ENDPOINTS = 8
/** Attempts that are leased and recorded in each round: more than a page of an index has room for. */
const BATCH = 128
const ROUNDS = 24
/** Rounds of which the one that reads least counts: one in many splits a page of an index, or cleans one. */
const COMPARED = 5
/** Blocks that a round may read more: indexes of what was delivered grow by a level. */
const SLACK_SHARE = 1.25

// A server of its own: a transaction that stays open in any database of a server keeps entries of indexes that lead nowhere.
const server = await startTestPostgres()

const notesPlans = await notesPlansOn(server)

describe.skipIf(!notesPlans)("the costs of webhook attempts", () => {
  afterAll(() => server?.stop())

  it.live(
    "are the same however many came and went since the table was cleaned",
    () =>
      Effect.gen(function* () {
        const schema = `attempts_${randomBytes(6).toString("hex")}`
        const recorder = yield* Effect.acquireRelease(
          Effect.promise(() =>
            startRecorder(server!.url, { options: NOTE_PLANS_AND_COSTS, ignored: isHistoryLook })
          ),
          (one) => Effect.promise(one.stop)
        )
        const measured = yield* processOn({
          url: recorder.url,
          schema,
          readConnections: 1,
          writeConnections: 1
        })
        const store = Context.get(measured, WebhookStore)
        const now = yield* clockOf(Context.get(measured, MandateStore))
        const organization = newIdentifier("org_")
        const endpoints = Array.from({ length: ENDPOINTS }, () => newEndpoint(organization, now))
        for (const next of endpoints) {
          yield* store.changeEndpoint({
            organization,
            next,
            expected: "absent",
            limit: ENDPOINTS,
            claims: []
          })
        }
        const name = `${quoteSchema(schema)}.webhook_delivery`
        yield* withClient(
          server!.url,
          (sql) => sql.unsafe(`alter table ${name} set (autovacuum_enabled = off)`).unprepared
        )
        yield* withClient(
          server!.url,
          (sql) =>
            sql.unsafe(`insert into ${name} (organization, endpoint, delivery, event, event_type, created_at, state,
                queue, next_attempt_at, body)
              select '${organization}', e.id, 'dlv_' || lpad(n::text, 26, '0'), 'evt_' || lpad(n::text, 26, '0'),
                'mandate.activated', ${now}, 'pending', 'due', ${now} + n, '{}'
              from unnest(array['${endpoints.map(({ id }) => id).join("','")}']) with ordinality e (id, place)
                cross join generate_series(e.place, ${ROUNDS * BATCH}, ${ENDPOINTS}) n`).unprepared
        )
        // Plans are made when nothing is open.
        yield* withClient(server!.url, (sql) => sql.unsafe(`analyze ${name}`).unprepared)
        const revisions = new Map(endpoints.map(({ id }) => [id, 1]))
        const blocks: Array<number> = []
        let underWay: ReadonlyArray<LeasedDelivery> = []
        for (let round = 0; round < ROUNDS; round += 1) {
          recorder.clear()
          const lease = {
            token: `round ${round}`,
            limit: BATCH,
            perEndpoint: 2 * BATCH,
            perOrganization: 1000,
            assured: 4,
            lasts: 10n ** 12n
          }
          const leased = yield* store.leaseDue(lease)
          assert.lengthOf(leased, BATCH)
          const ended = [...Map.groupBy(underWay, ({ endpoint }) => endpoint.id).values()].map((group) => ({
            organization,
            endpoint: group[0]!.endpoint,
            expected: revisions.get(group[0]!.endpoint.id)!,
            deliveries: group.map((one) => {
              const { token } = one.delivery.open!
              const result = { status: 204, durationMs: 1 }
              return { token, next: finishAttempt(one, { token, result, now, uniform: 0 })!.delivery }
            })
          }))
          underWay = leased
          const recorded = yield* store.recordAttempts(ended)
          for (const [at, { endpoint }] of ended.entries()) {
            assert.isDefined(recorded[at])
            revisions.set(endpoint.id, recorded[at]!)
          }
          const plans = executedPlans(recorder).filter(({ text }) =>
            /(?:lease|record)_webhook_attempts/u.test(text)
          )
          assert.lengthOf(plans, 2)
          blocks.push(
            plans.reduce(
              (sum, { plan }) => sum + (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
              0
            )
          )
        }
        const first = Math.min(...blocks.slice(1, 1 + COMPARED))
        const last = Math.min(...blocks.slice(-COMPARED))
        assert.isAtMost(last, first * SLACK_SHARE, blocks.join())
      }),
    120_000
  )
})
