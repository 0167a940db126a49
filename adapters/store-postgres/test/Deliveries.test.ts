import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { deliveryStemOf } from "@svc/domain/webhook/DeliveryId"
import type { WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import { createdChange, HOUR, newIdentifier } from "@svc/testkit/StoreFixtures"
import { newPlace, storeNow } from "@svc/testkit/store-contract/StoreUnderTest"
import {
  addWaiting,
  alter,
  deliveriesOf,
  disabledSince,
  lease,
  loadStored,
  recordEvent,
  register
} from "@svc/testkit/store-contract/WebhooksUnderTest"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import * as PostgresStore from "../src/PostgresStore.ts"
import { executedPlans, NOTE_PLANS_AND_COSTS, notesPlansOn, planNodes } from "./ExecutedPlans.ts"
import { isHistoryLook } from "./ProgramsOnPostgres.ts"
import { withClient } from "./TestClient.ts"
import { openTestDatabase } from "./TestPostgres.ts"
import { startRecorder } from "./WireRecorder.ts"

/** How many more deliveries a disabled endpoint is to have kept, and writers that come at once. */
const LEFT = 5
const WRITERS = 20

/** Attempts that may be open at an endpoint, workers that open some at once, and how often they do. */
const BOUND = 3
const WORKERS = 6
const ROUNDS = 20

/** Deliveries that wait at one endpoint, endpoints with nothing due yet, and endpoints that are disabled for good. */
const QUEUED = 10_000
const IDLE = 2000
const DISABLED = 100
/** What costs may differ by, for where index entries happen to lie, in blocks. */
const SLACK_BLOCKS = 180

const server = await openTestDatabase()
const url = Redacted.make(server?.url ?? "")
const schema = `deliveries_${randomBytes(6).toString("hex")}`

/** Runs with a store that is open for as long as the test's scope, so that what the test made can be put away. */
const onStore =
  (at: string) =>
  <A, E>(test: Effect.Effect<A, E, Layer.Success<ReturnType<typeof PostgresStore.layer>> | Scope.Scope>) =>
    Effect.flatMap(
      Layer.build(
        Layer.fresh(
          PostgresStore.layer({
            url: Redacted.make(at),
            schema,
            migrations: "run",
            readConnections: 1,
            writeConnections: 8
          })
        )
      ),
      (ports) => Effect.provide(test, ports)
    )

const query = (text: string, parameters: ReadonlyArray<unknown> = []) =>
  withClient(server?.url ?? "", (sql) =>
    sql.unsafe(text.replaceAll("{schema}", `"${schema}"`), [...parameters])
  )

const notesPlans = await notesPlansOn(server)

/** Opens attempts as the store's statement does, within a transaction of the caller's. */
const openAttempts = (sql: PgClient.PgClient, endpoint: WebhookEndpointState, perEndpoint: number) =>
  Effect.map(
    sql.unsafe<{ readonly o_endpoint: string }>(
      `select o_endpoint from "${schema}".lease_webhook_attempts($1, 100, $2, $2, 100, $3, '{}', '{}')`,
      [randomBytes(6).toString("hex"), perEndpoint, String(HOUR)]
    ),
    (opened) => opened.filter(({ o_endpoint }) => o_endpoint === endpoint.id).length
  )

const openAt = (endpoint: WebhookEndpointState) =>
  Effect.map(deliveriesOf(endpoint), (found) => found.filter(({ open }) => open !== undefined).length)

/** Copies of an endpoint, in organizations of their own. */
const copyEndpoint = (endpoint: WebhookEndpointState, count: number) =>
  query(
    `with copied as (
      insert into {schema}.webhook_attempt_lock (organization, endpoint)
        select e.organization || n, e.endpoint || n
        from {schema}.webhook_attempt_lock e, generate_series(1, $2::int) n where e.endpoint = $1
    ) insert into {schema}.webhook_endpoint
      select e.organization || n, e.endpoint || n, e.delivery_suffix, e.revision, 1, e.status, e.event_types, e.generation, e.held_until,
        e.held_left, e.missed_since, e.record
      from {schema}.webhook_endpoint e, generate_series(1, $2::int) n where e.endpoint = $1`,
    [endpoint.id, count]
  )

/** Copies of an endpoint's one delivery, for it and for the copies of it that there are. */
const copyDeliveries = (endpoint: string, queue: "due" | "frozen", count: number) =>
  query(
    `insert into {schema}.webhook_delivery
      select e.organization, e.endpoint, d.delivery || n, d.event, d.event_type, d.created_at, d.state, $3,
        d.next_attempt_at, d.open_token, d.open_at, d.open_expires_at, d.open_generation, d.attempts, d.body
      from {schema}.webhook_delivery d, {schema}.webhook_endpoint e, generate_series(1, $2::int) n
      where d.endpoint = $1 and e.endpoint like $1 || '%'`,
    [endpoint, count, queue]
  )

describe.skipIf(server === undefined)("webhook deliveries on a server (part 8)", () => {
  afterAll(() => server?.stop())

  it.live("are kept for a disabled endpoint up to the limit exactly, however many write at once", () =>
    Effect.gen(function* () {
      const mandates = yield* MandateStore
      const { organization } = newPlace()
      const endpoint = yield* register(organization)
      yield* alter(endpoint, disabledSince(yield* storeNow))
      yield* query("update {schema}.webhook_endpoint set held_left = $2 where endpoint = $1", [
        endpoint.id,
        LEFT
      ])
      const now = yield* storeNow
      const changes = Array.from({ length: WRITERS }, () => createdChange(newPlace({ organization }), now))
      yield* Effect.all(changes.map(mandates.append), { concurrency: "unbounded" })
      assert.lengthOf(yield* deliveriesOf(endpoint), LEFT)
      const { missedSince } = yield* loadStored(endpoint)
      assert.isTrue(missedSince !== undefined && missedSince >= now)
      yield* recordEvent(organization)
      assert.strictEqual((yield* loadStored(endpoint)).missedSince, missedSince)
    }).pipe(onStore(server!.url))
  )

  it.live("are kept for disabled endpoints without a deadlock, in whichever order their events arrive", () =>
    Effect.gen(function* () {
      const { organization } = newPlace()
      const types = ["mandate.created", "mandate.revoked"] as const
      const endpoints = yield* Effect.forEach(types, (type) => register(organization, { eventTypes: [type] }))
      for (const endpoint of endpoints) yield* alter(endpoint, disabledSince(yield* storeNow))
      const record = (sql: PgClient.PgClient, type: string) => {
        const id = newIdentifier("evt_")
        return sql.unsafe(`select "${schema}".fan_out($1, $2, $3, $4, $5)`, [
          organization,
          id,
          type,
          "{}",
          deliveryStemOf(id)
        ])
      }
      const transaction = (order: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const sql = yield* PgClient.make({ url })
          yield* sql.withTransaction(
            Effect.gen(function* () {
              for (const type of order) {
                yield* record(sql, type)
                // Both have recorded their first, or one waits for the other.
                yield* Effect.sleep("200 millis")
              }
            })
          )
        }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
      yield* Effect.all([transaction(types), transaction(types.toReversed())], { concurrency: 2 })
      for (const endpoint of endpoints) assert.lengthOf(yield* deliveriesOf(endpoint), 2)
    }).pipe(onStore(server!.url))
  )

  it.live("are left alone if this release cannot read their endpoint, and hold up no others", () =>
    Effect.gen(function* () {
      const webhooks = yield* WebhookStore
      const odd = yield* Effect.forEach(['{"schema":2,"value":{}}', '{"schema":2', "{}"], (record) =>
        Effect.gen(function* () {
          const endpoint = yield* register(newPlace().organization)
          for (let count = 0; count < 3; count += 1) yield* addWaiting(endpoint, (now) => now - HOUR)
          const { record: was } = (yield* query(
            "select record from {schema}.webhook_endpoint where endpoint = $1",
            [endpoint.id]
          ))[0] as { readonly record: string }
          yield* Effect.acquireRelease(
            query("update {schema}.webhook_endpoint set record = $2 where endpoint = $1", [
              endpoint.id,
              record
            ]),
            () =>
              Effect.orDie(
                query("update {schema}.webhook_endpoint set record = $2 where endpoint = $1", [
                  endpoint.id,
                  was
                ])
              )
          )
          return endpoint
        })
      )
      const endpoint = yield* register(newPlace().organization)
      yield* addWaiting(endpoint)
      const { leased } = yield* lease([...odd, endpoint], { lasts: 0n })
      assert.deepStrictEqual(
        leased.map((one) => one.endpoint.id),
        [endpoint.id]
      )
      for (const limit of [1, 2, 100]) {
        const { expired } = yield* webhooks.expiredAttempts({ limit })
        assert.isAtMost(expired.length, limit)
        assert.deepStrictEqual(
          expired.filter((one) => one.endpoint.id === endpoint.id).map(({ delivery }) => delivery.id),
          leased.map(({ delivery }) => delivery.id)
        )
      }
    }).pipe(onStore(server!.url))
  )

  it.live("are left to the worker that is opening attempts of their endpoint, while others proceed", () =>
    Effect.gen(function* () {
      const endpoint = yield* register(newPlace().organization)
      const other = yield* register(newPlace().organization)
      for (let count = 0; count < 2 * BOUND; count += 1) yield* addWaiting(endpoint)
      const sql = yield* PgClient.make({ url })
      const opening = (end: Effect.Effect<void, "rolled back">) =>
        sql.withTransaction(
          Effect.gen(function* () {
            assert.strictEqual(yield* openAttempts(sql, endpoint, BOUND), BOUND)
            const waiting = yield* addWaiting(other)
            const { leased } = yield* lease([endpoint, other], { perEndpoint: BOUND })
            assert.deepStrictEqual(
              leased.map(({ delivery }) => delivery.id),
              [waiting.id]
            )
            yield* end
          })
        )
      assert.strictEqual(yield* Effect.flip(opening(Effect.fail("rolled back"))), "rolled back")
      assert.strictEqual(yield* openAt(endpoint), 0)
      yield* opening(Effect.void)
      assert.lengthOf((yield* lease([endpoint], { perEndpoint: BOUND })).leased, 0)
      assert.strictEqual(yield* openAt(endpoint), BOUND)
      assert.lengthOf((yield* lease([endpoint], { perEndpoint: BOUND + 1 })).leased, 1)
    }).pipe(Effect.provide(Reactivity.layer), onStore(server!.url))
  )

  it.live("are attempted up to the bound of their endpoint, however many workers open attempts", () =>
    Effect.gen(function* () {
      const endpoint = yield* register(newPlace().organization)
      for (let count = 0; count < BOUND; count += 1) yield* addWaiting(endpoint)
      // Each adds one that waits longer than all before it, so that not all of them want the same ones.
      let longest = HOUR
      const work = (sql: PgClient.PgClient) =>
        Effect.andThen(
          addWaiting(endpoint, (now) => {
            longest += HOUR
            return now - longest
          }),
          openAttempts(sql, endpoint, BOUND)
        )
      const workers = yield* Effect.replicateEffect(PgClient.make({ url, maxConnections: 1 }), WORKERS)
      const rounds = Effect.replicateEffect(
        Effect.gen(function* () {
          const opened = yield* Effect.forEach(workers, work, { concurrency: "unbounded" })
          yield* query(
            "update {schema}.webhook_delivery set queue = 'due', open_token = null where endpoint = $1",
            [endpoint.id]
          )
          return opened.reduce((sum, count) => sum + count, 0)
        }),
        ROUNDS
      )
      assert.deepStrictEqual(yield* rounds, Array(ROUNDS).fill(BOUND))
    }).pipe(Effect.provide(Reactivity.layer), onStore(server!.url))
  )

  it.live("are recorded for several endpoints without waiting for one that is locked", () =>
    Effect.gen(function* () {
      const webhooks = yield* WebhookStore
      const held = yield* register(newPlace().organization)
      const free = yield* register(newPlace().organization)
      for (const endpoint of [held, free]) yield* addWaiting(endpoint)
      const { leased } = yield* lease([held, free])
      const ends = leased.map(({ delivery, endpoint, revision }) => {
        const { nextAttemptAt: _at, open, ...rest } = delivery
        const next = { ...rest, state: "delivered" } as const
        return {
          organization: endpoint.organizationId,
          endpoint,
          expected: revision,
          deliveries: [{ next, token: open!.token }]
        }
      })
      const isHeld = ({ endpoint }: (typeof ends)[number]) => endpoint.id === held.id
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sql = yield* PgClient.make({ url })
          yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql.unsafe(`select from "${schema}".webhook_endpoint where endpoint = $1 for update`, [
                held.id
              ])
              assert.deepStrictEqual(
                yield* webhooks.recordAttempts(ends),
                ends.map((end) => (isHeld(end) ? undefined : 2))
              )
            })
          )
        })
      ).pipe(Effect.provide(Reactivity.layer))
      assert.deepStrictEqual(yield* webhooks.recordAttempts(ends.filter(isHeld)), [2])
    }).pipe(onStore(server!.url))
  )

  it.live.skipIf(!notesPlans)(
    "cost the same to lease however many wait and however many endpoints there are",
    () =>
      Effect.gen(function* () {
        const recorder = yield* Effect.acquireRelease(
          Effect.promise(() =>
            startRecorder(server!.url, { options: NOTE_PLANS_AND_COSTS, ignored: isHistoryLook })
          ),
          (one) => Effect.promise(one.stop)
        )
        yield* Effect.gen(function* () {
          const webhooks = yield* WebhookStore
          const { organization } = newPlace()
          const endpoint = yield* register(organization)
          const dead = yield* register(newPlace().organization)
          const blocks = Effect.gen(function* () {
            recorder.clear()
            const leased = yield* webhooks.leaseDue({
              token: "t",
              limit: 4,
              perEndpoint: 4,
              assured: 0,
              perOrganization: 4,
              lasts: HOUR
            })
            const plans = executedPlans(recorder)
            const count = plans.reduce(
              (sum, { plan }) => sum + (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
              0
            )
            const scans = plans.flatMap(({ plan }) => planNodes(plan).map((node) => node["Node Type"]))
            assert.notInclude(scans, "Seq Scan")
            yield* query(
              "update {schema}.webhook_delivery set queue = 'due', open_token = null where queue is null"
            )
            return { leased: leased.length, count }
          })
          yield* recordEvent(organization)
          yield* recordEvent(dead.organizationId)
          yield* copyDeliveries(endpoint.id, "due", 20)
          const few = yield* Effect.replicateEffect(blocks, 8)
          yield* copyEndpoint(endpoint, IDLE)
          // Each waits for a retry that is far off.
          yield* query(
            `insert into {schema}.webhook_delivery (organization, endpoint, delivery, event, event_type, created_at,
                state, queue, next_attempt_at, body)
              select e.organization, e.endpoint, 'dlv_later', 'evt', 'mandate.created', 1, 'pending', 'later',
                extract(epoch from clock_timestamp())::bigint * 1000000000 + 3600000000000, '{}'
              from {schema}.webhook_endpoint e where e.endpoint like $1 || '_%'`,
            [endpoint.id]
          )
          yield* alter(dead, disabledSince(yield* storeNow))
          yield* copyEndpoint(dead, DISABLED)
          yield* copyDeliveries(dead.id, "frozen", 10)
          yield* query(
            `insert into {schema}.webhook_delivery
              select d.organization, d.endpoint, d.delivery || n || 'b', d.event, d.event_type, d.created_at, d.state,
                d.queue, d.next_attempt_at, null, null, null, null, d.attempts, d.body
              from {schema}.webhook_delivery d, generate_series(1, $2::int) n
              where d.endpoint = $1 and d.delivery = (
                select min(m.delivery) from {schema}.webhook_delivery m where m.endpoint = $1)`,
            [endpoint.id, QUEUED]
          )
          const many = yield* Effect.replicateEffect(blocks, 8)
          const least = (costs: typeof few) => Math.min(...costs.map(({ count }) => count))
          assert.deepStrictEqual(
            [...few, ...many].map(({ leased }) => leased),
            Array(16).fill(4)
          )
          assert.isAtMost(least(many), least(few) + SLACK_BLOCKS)
        }).pipe(onStore(recorder.url))
      })
  )
})
