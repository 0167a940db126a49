/** The service with a worker and the real transport, on each store, and receivers that it delivers to. */
import { randomBytes } from "node:crypto"
import type { Socket } from "node:net"
import { afterAll } from "@effect/vitest"
import { WebhookWakeUp } from "@svc/domain/workers/WebhookWorker"
import { workerLayer } from "@svc/domain/workers/Worker"
import { answering, plainReceiver, type Receiver } from "@svc/guarded-http/test/HostileReceiver"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import type { TestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Clock, Effect, Layer, Redacted, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { bodyOf, type Service, type ServiceOptions, startService, type Tenant } from "./ServiceUnderTest.ts"

const NANOS_PER_SECOND = 1_000_000_000
const MILLISECONDS_PER_SECOND = 1000
/** Gives up on what does not come, in milliseconds: far longer than it takes on a machine that is busy. */
const GIVE_UP_MS = 60_000
/** Longest that a test of this may take, which waits for several things, in milliseconds. */
export const TEST_TIMEOUT_MS = 300_000
const POLL_MS = 10
/** Between two requests that ask for the same, in milliseconds. */
const ASK_AGAIN_MS = 50
const MASTER_KEY_BYTES = 32

const BRING_FORWARD = `update svc.webhook_delivery set next_attempt_at = next_attempt_at - $1
  where queue is not null`

/** Waits for what happens soon. */
export const eventually = (what: string, holds: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (!holds()) yield* Effect.sleep(POLL_MS)
  }).pipe(
    Effect.timeoutOrElse({ duration: GIVE_UP_MS, orElse: () => Effect.die(new Error(`in vain: ${what}`)) })
  )

/** Asks until the answer is as it should be, and gives it. */
export const awaited = <A>(
  what: string,
  ask: Effect.Effect<A>,
  holds: (answer: A) => boolean
): Effect.Effect<A> => {
  let last: A | undefined
  return Effect.gen(function* () {
    for (;;) {
      last = yield* ask
      if (holds(last)) return last
      yield* Effect.sleep(ASK_AGAIN_MS)
    }
  }).pipe(
    Effect.timeoutOrElse({
      duration: GIVE_UP_MS,
      orElse: () => Effect.die(new Error(`in vain: ${what}, last ${JSON.stringify(last)}`))
    })
  )
}

/** A store for one test. */
export interface OpenStore {
  /** What a service needs to stand on it. Several may, where it is a server. */
  readonly options: Pick<ServiceOptions, "store" | "migrations" | "masterKey" | "observing" | "wakeUp">
  /** Advances the store's time by so many seconds, and wakes the workers. */
  readonly pass: (seconds: number) => Effect.Effect<void>
  /** Rows of a statement on the server, in whose schema it is; on the memory store there are none. */
  readonly query: (
    text: string,
    parameters?: ReadonlyArray<string | number>
  ) => Effect.Effect<ReadonlyArray<Readonly<Record<string, unknown>>>>
  /** The server's URL for this database; on the memory store there is none. */
  readonly url: string
}

/** A clock that goes as fast as any other, and is ahead of it. */
const aheadBy = (seconds: () => number): Effect.Effect<Clock.Clock> =>
  Effect.map(Clock.Clock, (clock) => {
    const millis = () => clock.currentTimeMillisUnsafe() + seconds() * MILLISECONDS_PER_SECOND
    const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(seconds() * NANOS_PER_SECOND)
    return {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    }
  })

const openMemory: Effect.Effect<OpenStore> = Effect.gen(function* () {
  let ahead = 0
  const clock = yield* aheadBy(() => ahead)
  const wakeUp = WebhookWakeUp.defaultValue()
  return {
    options: { store: "memory", observing: Layer.succeed(Clock.Clock)(clock), wakeUp },
    pass: (seconds) =>
      Effect.sync(() => {
        ahead += seconds
        wakeUp.notify()
      }),
    query: () => Effect.succeed([]),
    url: ""
  }
})

/** One statement at a server, with this schema's tables first. */
const onServer = (url: string, text: string, parameters: ReadonlyArray<string | number> = []) =>
  PostgresStore.connect({ url: Redacted.make(url), readConnections: 1, writeConnections: 1 }).pipe(
    Effect.flatMap(({ reads }) => reads.unsafe<Readonly<Record<string, unknown>>>(text, [...parameters])),
    Effect.scoped,
    Effect.provide(Reactivity.layer),
    Effect.orDie
  )

/** A database of its own at this server, whose schema the first service on it makes. */
export const makeDatabase = (
  server: TestDatabase
): Effect.Effect<OpenStore & { readonly drop: Effect.Effect<unknown> }> =>
  Effect.gen(function* () {
    const name = `webhooks_${randomBytes(6).toString("hex")}`
    yield* onServer(server.url, `create database ${name}`)
    const place = new URL(server.url)
    place.pathname = `/${name}`
    const url = place.href
    const query: OpenStore["query"] = (text, parameters) => onServer(url, text, parameters)
    const wakeUp = WebhookWakeUp.defaultValue()
    return {
      options: {
        store: { postgres: Redacted.make(url) },
        migrations: "run",
        masterKey: new Uint8Array(randomBytes(MASTER_KEY_BYTES)),
        wakeUp
      },
      pass: (seconds) =>
        Effect.map(query(BRING_FORWARD, [String(seconds * NANOS_PER_SECOND)]), () => wakeUp.notify()),
      query,
      url,
      drop: onServer(server.url, `drop database ${name} with (force)`)
    }
  })

/** The stores that deliveries are tested on. All tests of a file share the database of the second, if there is a server. */
export const storesWith = (server: TestDatabase | undefined) => {
  let made: Promise<Effect.Success<ReturnType<typeof makeDatabase>>> | undefined
  afterAll(async () => {
    if (made !== undefined) await Effect.runPromise((await made).drop)
    await server?.stop()
  })
  const openDatabase = Effect.promise((): Promise<OpenStore> => {
    made ??= Effect.runPromise(makeDatabase(server!))
    return made
  })
  return [
    { name: "the memory store", open: openMemory, isAbsent: false },
    { name: "Postgres", open: openDatabase, isAbsent: server === undefined }
  ]
}

/** A service with a worker on a store. */
export const startDelivering = (store: OpenStore, options: ServiceOptions = {}) =>
  startService({ ...store.options, working: Layer.empty, ...options })

/** A webhook as it was received. */
export interface Webhook {
  readonly id: string
  readonly type: string
  readonly body: Buffer
  readonly signature: string
  readonly head: string
}

export interface ToldReceiver extends Receiver {
  readonly url: string
  /** What it answers an event from now on: a status, or nothing until `release`. */
  answer: (webhook: Webhook) => number | "hold"
  readonly webhooks: () => ReadonlyArray<Webhook>
  /** How many it has not answered yet. */
  readonly held: () => number
  /** Answers what is held. */
  readonly release: (status: number) => void
}

const answer = (socket: Socket, status: number) =>
  answering(`HTTP/1.1 ${status} X`, "Content-Length: 0", "", "")(socket)

/** Every webhook that a receiver has got whole, in order. */
export const webhooksAt = ({ seen }: Receiver): ReadonlyArray<Webhook> =>
  seen.requests.map(({ body, head }) => {
    const { id, type } = JSON.parse(body.toString("utf8"))
    return { id, type, body, head, signature: /^svc-signature: (.*)$/im.exec(head)?.[1] ?? "" }
  })

/** A receiver on this machine that answers 204 until it is told otherwise. */
export const toldReceiver: Effect.Effect<ToldReceiver, never, Scope.Scope> = Effect.gen(function* () {
  const held: Array<Socket> = []
  let told: ToldReceiver | undefined
  const receiver = yield* plainReceiver((socket) => {
    const now = told!.answer(told!.webhooks().at(-1)!)
    if (now === "hold") held.push(socket)
    else answer(socket, now)
  })
  told = {
    ...receiver,
    url: `http://127.0.0.1:${receiver.port}/hook`,
    answer: () => 204,
    webhooks: () => webhooksAt(receiver),
    held: () => held.length,
    release: (status) => {
      for (const socket of held.splice(0)) answer(socket, status)
    }
  }
  return told
})

export const ENDPOINTS = "/v1/webhook-endpoints"

/** What a tenant does with its endpoints, over HTTP. */
export const endpointsOf = (tenant: Tenant) => {
  const at = (id: string, rest = "") => `${ENDPOINTS}/${id}${rest}`
  return {
    register: (url: string, parts: object = {}) =>
      Effect.map(tenant.write("POST", ENDPOINTS, { url, ...parts }), (answered) => bodyOf(answered, 201)),
    read: (id: string) => tenant.get(at(id)),
    deliveries: (id: string): Effect.Effect<ReadonlyArray<ShownDelivery>> =>
      Effect.map(tenant.get(`${at(id)}/deliveries?limit=100`), ({ data }) => data),
    remove: (id: string) => tenant.send({ method: "DELETE", path: at(id) }),
    reactivate: (id: string) => tenant.send({ method: "PUT", path: at(id, "/reactivation") }),
    rotate: (id: string) => tenant.send({ method: "PUT", path: at(id, "/secret") }),
    test: (id: string) => tenant.send({ method: "POST", path: at(id, "/test") }),
    redeliver: (id: string, delivery: string) =>
      tenant.send({ method: "POST", path: at(id, `/deliveries/${delivery}/redelivery`) })
  }
}

/** A delivery as the list shows it. */
export interface ShownDelivery {
  readonly id: string
  readonly state: string
  readonly event_id: string
  readonly event_type: string
  readonly next_attempt_at?: string
  readonly attempts: ReadonlyArray<{
    readonly at: string
    readonly status?: number
    readonly duration_ms: number
    readonly error?: string
  }>
}

/** Begins the work of a service that was started without a worker. */
export const startWorker = ({ services }: Pick<Service, "services">) =>
  workerLayer.pipe(Layer.provide(Layer.succeedContext(services)), Layer.build)
