import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { ATTEMPTS_PER_ENDPOINT, WebhookWakeUp } from "@svc/domain/workers/WebhookWorker"
import { dripping, plainReceiver, silentReceiver } from "@svc/guarded-http/test/HostileReceiver"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { writeAttempts } from "@svc/store-postgres/RecordCodec"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { startRecorder } from "@svc/store-postgres/test/WireRecorder"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { Clock, Deferred, Duration, Effect, Fiber, Layer, Redacted, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import {
  awaited,
  endpointsOf,
  eventually,
  type OpenStore,
  type ShownDelivery,
  startDelivering,
  startWorker,
  storesWith,
  TEST_TIMEOUT_MS,
  toldReceiver,
  webhooksAt
} from "./DeliveringService.ts"
import { bodyOf, startService } from "./ServiceUnderTest.ts"

/** How long an idle worker is watched, in milliseconds. */
const WATCHED_MS = 3000
/** Statements beyond one a second: the loop's first, and one that a boundary of the watch cuts. */
const SLACK = 2

const MAX_FAILED = 20
const MAX_EXHAUSTED = 10
/** Attempts that a delivery has. */
const ATTEMPTS = 9

/** More than one endpoint may have under way at a time. */
const EVENTS = 18

/** So long that no attempt at an endpoint that hangs ends by itself during a test, in milliseconds. */
const PATIENCE_MS = 120_000

const patient = WebhookTransportHttp.layer({
  loopbackAllowed: true,
  connectLimitMs: PATIENCE_MS,
  wholeLimitMs: PATIENCE_MS
})

/** Listens, and never accepts: its queue is full after two connections, and further ones are not established. */
const neverAccepting: Effect.Effect<number, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const worker = new Worker(
      `const { parentPort } = require("node:worker_threads")
      const server = require("node:net").createServer()
      server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
        parentPort.postMessage(server.address().port)
        setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
      })`,
      { eval: true }
    )
    const port = await new Promise<number>((resolve) => worker.once("message", resolve))
    return { worker, port }
  }),
  ({ worker }) => Effect.promise(() => worker.terminate())
).pipe(Effect.map(({ port }) => port))

const server = await openTestDatabase()
const stores = storesWith(server)
const { open } = stores[1]!

/** Longer than a worker waits for more to do at once, in milliseconds. */
const MOMENT_MS = 100

/** A clock on which nobody wakes by himself who sleeps for longer than a moment. */
const asleep = Effect.map(
  Clock.Clock,
  (clock): Clock.Clock => ({
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
    currentTimeMillis: clock.currentTimeMillis,
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
    currentTimeNanos: clock.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => (Duration.toMillis(duration) <= MOMENT_MS ? clock.sleep(duration) : Effect.never)
  })
)

const SVC = fileURLToPath(new URL("../src/bin/svc.ts", import.meta.url))
const RUNS_TYPESCRIPT = Number(process.versions.node.split(".")[0]) >= 24

/** Longer than the first retry waits, in seconds. */
const A_RETRY = 40

/** `svc worker` on a database, in a process that can be killed. */
const spawnWorker = ({ options, url }: OpenStore) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [SVC, "worker"], {
        env: {
          ...leastEnvironment(),
          SVC_ENVIRONMENT: "test",
          SVC_STORE: url,
          SVC_MASTER_KEY: encodeBase64Url(options.masterKey!),
          SVC_WEBHOOK_ALLOW_LOOPBACK: "true"
        },
        stdio: "ignore"
      })
      const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
      const kill = Effect.promise(() => {
        child.kill("SIGKILL")
        return ended
      })
      return { kill }
    }),
    ({ kill }) => kill
  )

/** Makes the claims of workers that are gone run out now. */
const expireClaims = ({ query }: OpenStore, endpoint: string) =>
  query(
    "update svc.webhook_delivery set open_expires_at = 0 where endpoint = $1 and open_token is not null",
    [endpoint]
  )

/** Locks the row of an endpoint until it is let go. */
const holdEndpoint = Effect.fnUntraced(function* ({ url }: OpenStore, endpoint: string) {
  const { reads } = yield* PostgresStore.connect({ url: Redacted.make(url), readConnections: 1 })
  const [locked, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const holding = yield* reads
    .withTransaction(
      reads
        .unsafe("select 1 from svc.webhook_endpoint where endpoint = $1 for update", [endpoint])
        .pipe(Effect.andThen(Deferred.succeed(locked, undefined)), Effect.andThen(Deferred.await(mayEnd)))
    )
    .pipe(Effect.forkScoped)
  yield* Deferred.await(locked)
  return { letGo: Effect.andThen(Deferred.succeed(mayEnd, undefined), Fiber.join(holding)) }
}, Effect.provide(Reactivity.layer))

const WAITING_FOR_A_LOCK = `select pid from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%record_webhook_attempts%'`

const END_WHOEVER_WAITS = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`

const outcomesOf = (deliveries: ReadonlyArray<ShownDelivery>) =>
  deliveries.map(({ attempts, state }) => [state, ...attempts.map(({ error, status }) => error ?? status)])

/** Two services with a worker each, as in two processes that hear of each other's attempts at once. */
const startTwo = Effect.fnUntraced(function* (store: OpenStore) {
  const first = yield* startDelivering(store)
  const second = yield* startDelivering(store, { migrations: "require" })
  return { tenant: first.tenant, services: [first, second] }
})

/** Writes down every change of an endpoint's row from now on. */
const watchChanges = ({ query }: OpenStore, endpoint: string) =>
  Effect.gen(function* () {
    yield* query(
      `create table if not exists public.change (place bigserial, endpoint text, before text, after text, record text)`
    )
    yield* query(`create or replace function public.note() returns trigger language plpgsql as $$ begin
      insert into public.change (endpoint, before, after, record) values (new.endpoint, old.status, new.status, new.record);
      return null; end $$`)
    yield* query(
      `create or replace trigger note after update on svc.webhook_endpoint for each row execute function public.note()`
    )
    return Effect.map(
      query("select before, after, record from public.change where endpoint = $1 order by place", [endpoint]),
      (rows) =>
        rows as ReadonlyArray<{ readonly before: string; readonly after: string; readonly record: string }>
    )
  })

/** Waits until no attempt is open; gives the ends of all attempts at the endpoint, in no order. */
const attemptsOf = ({ query }: OpenStore, endpoint: string) =>
  awaited(
    "the end of all attempts",
    query("select open_token, state, attempts from svc.webhook_delivery where endpoint = $1", [endpoint]),
    (rows) => rows.every(({ open_token }) => open_token === null)
  )

describe.skipIf(server === undefined)("webhook workers (part 8)", { timeout: TEST_TIMEOUT_MS }, () => {
  it.live(
    "poll at most once a second when idle, and deliver in this way what another process has recorded, too",
    () =>
      Effect.gen(function* () {
        const store = yield* open
        const elsewhere = yield* startService({ ...store.options, wakeUp: WebhookWakeUp.defaultValue() })
        const recorder = yield* Effect.acquireRelease(
          Effect.promise(() => startRecorder(store.url)),
          (one) => Effect.promise(one.stop)
        )
        yield* startDelivering(store, {
          store: { postgres: Redacted.make(recorder.url) },
          migrations: "require"
        })
        const sentOf = (name: string) => recorder.sent().filter(({ text }) => text.includes(name)).length
        yield* eventually("the workers", () => sentOf("lease_webhook_attempts") > 0)
        recorder.clear()
        const begun = yield* Clock.currentTimeMillis
        yield* Effect.sleep(WATCHED_MS)
        const seconds = ((yield* Clock.currentTimeMillis) - begun) / 1000
        const texts = recorder.sent().map(({ text }) => text)
        const leases = sentOf("lease_webhook_attempts")
        assert.isAtLeast(leases, 1)
        assert.isAtMost(leases, seconds + SLACK)
        // The other one is for transitions that are due; and a look for lost attempts, and for a new signing key.
        assert.isAtMost(texts.length - leases, seconds + SLACK + 2, texts.join("\n"))

        const receiver = yield* toldReceiver
        yield* endpointsOf(elsewhere.tenant).register(receiver.url)
        yield* elsewhere.tenant.newMandate()
        yield* eventually("the event", () => receiver.webhooks().length === 1)
      })
  )

  it.live(
    "deliver what their own process records, and tests and redeliveries, at once, without waiting for a poll",
    () =>
      Effect.gen(function* () {
        const store = yield* open
        const working = Layer.succeed(Clock.Clock)(yield* asleep)
        const { tenant } = yield* startDelivering(store, { working })
        const receiver = yield* toldReceiver
        const endpoints = endpointsOf(tenant)
        const { id } = yield* endpoints.register(receiver.url)
        const arrives = (count: number) =>
          eventually(`webhook ${count}`, () => receiver.webhooks().length === count)
        yield* tenant.newMandate()
        yield* arrives(1)
        bodyOf(yield* endpoints.test(id), 201)
        yield* arrives(2)
        const [, first] = yield* awaited("delivered", endpoints.deliveries(id), (all) =>
          all.every(({ state }) => state === "delivered")
        )
        bodyOf(yield* endpoints.redeliver(id, first!.id), 201)
        yield* arrives(3)
      })
  )

  it.live("count every attempt and disable an endpoint once at 20 consecutive failures", () =>
    Effect.gen(function* () {
      const store = yield* open
      const { services, tenant } = yield* startTwo(store)
      const receiver = yield* toldReceiver
      receiver.answer = () => "hold"
      const endpoints = endpointsOf(tenant)
      const { id } = yield* endpoints.register(receiver.url)
      const changes = yield* watchChanges(store, id)
      yield* Effect.all(
        Array.from({ length: 2 * ATTEMPTS_PER_ENDPOINT }, () => Effect.suspend(() => tenant.newMandate())),
        { concurrency: 8 }
      )
      yield* eventually("as many as may be under way", () => receiver.held() === ATTEMPTS_PER_ENDPOINT)
      receiver.answer = () => 500
      receiver.release(500)
      yield* awaited("disabled", endpoints.read(id), ({ status }) => status === "disabled")
      const rows = yield* attemptsOf(store, id)
      const made = rows.filter(({ attempts }) => attempts !== null).length
      assert.isAtLeast(made, MAX_FAILED)
      assert.strictEqual(receiver.webhooks().length, made)
      const shown = yield* endpoints.read(id)
      assert.deepInclude(shown, {
        status: "disabled",
        disabled_reason: "consecutive_failed_attempts",
        consecutive_failed_attempts: made,
        consecutive_exhausted_deliveries: 0
      })
      const noted = yield* changes
      const disabling = noted.filter(({ after, before }) => before !== after)
      assert.lengthOf(disabling, 1)
      // In the very write that reached the bound.
      const counted = noted.map(({ record }) => JSON.parse(record).value.consecutiveFailedAttempts as number)
      const at = noted.indexOf(disabling[0]!)
      assert.isTrue(counted.slice(0, at).every((count) => count < MAX_FAILED))
      assert.isAtLeast(counted[at]!, MAX_FAILED)
      assert.strictEqual(counted.at(-1), made)
      const [first, second] = services.map(
        ({ log }) => log.filter((line) => line.includes("webhook attempt") && line.includes(id)).length
      )
      assert.strictEqual(first! + second!, made)
      const warned = services
        .flatMap(({ log }) => log)
        .filter((line) => line.includes("a webhook endpoint is disabled"))
      assert.lengthOf(warned, 1)
      assert.include(warned[0], id)
    })
  )

  it.live("disable an endpoint once at 10 exhausted deliveries, for that reason", () =>
    Effect.gen(function* () {
      const store = yield* open
      const { tenant } = yield* startTwo(store)
      const receiver = yield* toldReceiver
      receiver.answer = () => "hold"
      const endpoints = endpointsOf(tenant)
      const { id } = yield* endpoints.register(receiver.url)
      const changes = yield* watchChanges(store, id)
      const events = MAX_EXHAUSTED + 2
      for (let count = 0; count < events; count++) yield* tenant.newMandate()
      yield* eventually("all under way", () => receiver.held() === events)
      receiver.release(204)
      yield* attemptsOf(store, id)
      // As they would be after eight failed attempts of which none in a row with another endpoint's success.
      const failed = Array.from({ length: ATTEMPTS - 1 }, () => ({ at: 0n, status: 500, durationMs: 1 }))
      yield* store.query(
        `update svc.webhook_delivery set state = 'pending', queue = 'due', attempts = $2, next_attempt_at = 0
          where endpoint = $1`,
        [id, writeAttempts(failed)]
      )
      receiver.answer = () => "hold"
      yield* store.pass(0)
      yield* eventually("the last attempts", () => receiver.held() === events)
      receiver.release(500)
      yield* awaited("disabled", endpoints.read(id), ({ status }) => status === "disabled")
      yield* attemptsOf(store, id)
      assert.deepInclude(yield* endpoints.read(id), {
        status: "disabled",
        disabled_reason: "consecutive_exhausted_deliveries",
        consecutive_failed_attempts: events,
        consecutive_exhausted_deliveries: events
      })
      const states = (yield* endpoints.deliveries(id)).map(({ attempts, state }) => [state, attempts.length])
      assert.deepStrictEqual(states, Array(events).fill(["exhausted", ATTEMPTS]))
      assert.lengthOf(
        (yield* changes).filter(({ after, before }) => before !== after),
        1
      )
    })
  )

  it.live.skipIf(!RUNS_TYPESCRIPT)(
    "killed between the 2xx and its record use up an attempt and deliver the event again (graphile/worker#204)",
    () =>
      Effect.gen(function* () {
        const store = yield* open
        const service = yield* startService(store.options)
        const receiver = yield* toldReceiver
        receiver.answer = () => "hold"
        const endpoints = endpointsOf(service.tenant)
        const { id } = yield* endpoints.register(receiver.url)
        yield* service.tenant.newMandate()
        const worker = yield* spawnWorker(store)
        yield* eventually("the attempt", () => receiver.held() === 1)
        // Held up by somebody who has the endpoint, the record of the end is cut off with its worker.
        const holder = yield* holdEndpoint(store, id)
        receiver.release(204)
        yield* awaited("the record, waiting", store.query(WAITING_FOR_A_LOCK), (rows) => rows.length === 1)
        yield* worker.kill
        yield* store.query(END_WHOEVER_WAITS)
        yield* holder.letGo
        assert.deepStrictEqual(outcomesOf(yield* endpoints.deliveries(id)), [["pending"]])

        receiver.answer = () => 204
        yield* expireClaims(store, id)
        yield* startWorker(service)
        yield* awaited("worker_lost", endpoints.deliveries(id), ([one]) => one?.attempts.length === 1)
        yield* store.pass(A_RETRY)
        const all = yield* awaited(
          "delivered",
          endpoints.deliveries(id),
          ([one]) => one?.state === "delivered"
        )
        assert.deepStrictEqual(outcomesOf(all), [["delivered", "worker_lost", 204]])
        const [first, second, ...others] = receiver.webhooks()
        assert.deepStrictEqual([second!.id, second!.body, others], [first!.id, first!.body, []])
        assert.strictEqual((yield* endpoints.read(id)).consecutive_failed_attempts, 0)
      })
  )

  it.live(
    "whose lease expires while they still work record no late result, and the event is delivered again by others",
    () =>
      Effect.gen(function* () {
        const store = yield* open
        const { tenant } = yield* startDelivering(store)
        const receiver = yield* toldReceiver
        receiver.answer = () => "hold"
        const endpoints = endpointsOf(tenant)
        const { id } = yield* endpoints.register(receiver.url)
        yield* tenant.newMandate()
        yield* eventually("the attempt", () => receiver.held() === 1)
        yield* expireClaims(store, id)
        // It looks for claims that have run out as soon as it starts.
        yield* startDelivering(store, { migrations: "require" })
        yield* awaited("worker_lost", endpoints.deliveries(id), ([one]) => one?.attempts.length === 1)
        receiver.answer = () => 503
        receiver.release(503)
        yield* store.pass(A_RETRY)
        yield* awaited("the second", endpoints.deliveries(id), ([one]) => one?.attempts.length === 2)
        receiver.answer = () => 204
        yield* store.pass(3 * A_RETRY)
        const all = yield* awaited(
          "delivered",
          endpoints.deliveries(id),
          ([one]) => one?.state === "delivered"
        )
        // Of the two 503 only the second was an attempt of its own.
        assert.deepStrictEqual(outcomesOf(all), [["delivered", "worker_lost", 503, 204]])
        assert.lengthOf(receiver.webhooks(), 3)
        assert.lengthOf(new Set(receiver.webhooks().map(({ body }) => body.toString())), 1)
        assert.strictEqual((yield* endpoints.read(id)).consecutive_failed_attempts, 0)
      })
  )

  for (const [what, change] of [
    ["10,000 deliveries are kept", "held_left = 0"],
    ["it was disabled for 7 days", "held_until = 0"]
  ] as const) {
    it.live(`missed_since is set once ${what}, until a reactivation, whose answer has it last`, () =>
      Effect.gen(function* () {
        const store = yield* open
        const { tenant } = yield* startDelivering(store)
        const receiver = yield* toldReceiver
        receiver.answer = () => 500
        const endpoints = endpointsOf(tenant)
        const { id } = yield* endpoints.register(receiver.url)
        const tests = Array.from({ length: MAX_FAILED }, () => endpoints.test(id))
        yield* Effect.all(tests, { concurrency: "unbounded" })
        yield* awaited("disabled", endpoints.read(id), ({ status }) => status === "disabled")
        yield* tenant.newMandate()
        const held = yield* endpoints.read(id)
        assert.notProperty(held, "missed_since")
        const before = yield* endpoints.deliveries(id)
        assert.lengthOf(before, MAX_FAILED + 1)
        yield* store.query(`update svc.webhook_endpoint set ${change} where endpoint = $1`, [id])
        const missed = yield* tenant.newMandate()
        yield* tenant.newMandate()
        const shown = yield* endpoints.read(id)
        assert.isTrue(shown.missed_since >= missed.created_at, shown.missed_since)
        assert.deepStrictEqual(yield* endpoints.deliveries(id), before)
        assert.deepStrictEqual((yield* tenant.get("/v1/webhook-endpoints")).data, [shown])
        // Other tests' transactions on the same server hold the feed back for a while.
        const { data } = yield* awaited(
          "the feed",
          tenant.get("/v1/events?limit=100"),
          (page) => page.data.length > 2
        )
        assert.lengthOf(data, 3)
        const reactivated = bodyOf(yield* endpoints.reactivate(id), 200)
        assert.deepInclude(reactivated, { status: "active", missed_since: shown.missed_since })
        assert.notProperty(yield* endpoints.read(id), "missed_since")
        receiver.answer = () => 204
        const sent = receiver.webhooks().length
        yield* tenant.newMandate()
        yield* eventually(
          "what comes after it",
          () => receiver.webhooks().length === sent + 1 || receiver.webhooks().length === sent + 2
        )
        assert.notProperty(yield* endpoints.read(id), "missed_since")
      })
    )
  }
})

for (const { isAbsent, name, open: openOne } of stores) {
  describe.skipIf(isAbsent)(
    `one dead endpoint starving others, on ${name}`,
    { timeout: TEST_TIMEOUT_MS },
    () => {
      it.live(
        "deliver every event to the fifth endpoint while attempts to four other ones hang, each of them in its own way",
        () =>
          Effect.gen(function* () {
            const { tenant } = yield* startDelivering(yield* openOne, { webhookTransport: patient })
            const silent = yield* silentReceiver()
            const stalled = yield* silentReceiver()
            const slow = yield* plainReceiver((socket) => {
              socket.write("HTTP/1.1 200 OK\r\nX: ")
              dripping(socket, "x", 100)
            })
            const full = yield* neverAccepting
            const quick = yield* toldReceiver
            const hangers = [
              `http://127.0.0.1:${silent.port}/`,
              `https://localhost:${stalled.port}/`,
              `http://127.0.0.1:${slow.port}/`,
              `http://127.0.0.1:${full}/`
            ]
            const endpoints = endpointsOf(tenant)
            const hanging = yield* Effect.forEach(hangers, (url) => endpoints.register(url))
            const fifth = yield* endpoints.register(quick.url)
            for (let count = 1; count <= EVENTS; count++) {
              const { id } = yield* tenant.newMandate()
              yield* eventually(`event ${count}`, () => quick.webhooks().length === count)
              assert.strictEqual(JSON.parse(quick.webhooks().at(-1)!.body.toString()).data.mandate_id, id)
            }
            for (const { id } of hanging) {
              const deliveries = yield* endpoints.deliveries(id)
              assert.lengthOf(deliveries, EVENTS)
              for (const { attempts, state } of deliveries)
                assert.deepStrictEqual([state, attempts], ["pending", []])
            }
            // They do hang: each has attempts under way.
            for (const { seen } of [silent, stalled, slow]) assert.isAbove(seen.open, 0)
            assert.lengthOf(yield* endpoints.deliveries(fifth.id), EVENTS)
          })
      )

      it.live("are not held up by a response body that arrives byte by byte", () =>
        Effect.gen(function* () {
          const { tenant } = yield* startDelivering(yield* openOne, { webhookTransport: patient })
          const slow = yield* plainReceiver((socket) => {
            socket.write("HTTP/1.1 202 Accepted\r\nContent-Length: 10000\r\n\r\n")
            dripping(socket, "x", 100)
          })
          const endpoints = endpointsOf(tenant)
          const { id } = yield* endpoints.register(`http://127.0.0.1:${slow.port}/`)
          yield* tenant.newMandate()
          yield* eventually("the event", () => webhooksAt(slow).length === 1)
          const [delivery] = yield* awaited(
            "the end of the attempt",
            endpoints.deliveries(id),
            ([one]) => one?.attempts.length === 1
          )
          assert.deepInclude(delivery, { state: "delivered" })
          assert.strictEqual(delivery!.attempts[0]!.status, 202)
        })
      )
    }
  )
}
