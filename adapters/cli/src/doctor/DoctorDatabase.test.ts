import { createServer } from "node:net"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import type { Organization } from "@svc/domain/organization/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { makeSigningKey } from "@svc/signer/StoredSigningKey"
import { preparedTransactions, transactionFacts } from "@svc/store-postgres/diagnosis/ActivityFacts"
import { sharesSessions } from "@svc/store-postgres/diagnosis/ServerFacts"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { startTestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { afterAll } from "vitest"
import { Canaries } from "../../test/Canaries.ts"
import { besideStore, makeEndpoint, makeSampleData } from "../../test/SampleData.ts"
import { preparedCheck, transactionsCheck } from "./ActivityChecks.ts"
import type { Finding } from "./Check.ts"
import { reportForPeople, reportForPrograms } from "./DoctorReport.ts"
import { Network } from "./NetworkChecks.ts"
import { storeFindings } from "./StoreFindings.ts"

/*
 * A deployment on a server of its own, sound at first, into which one fault after the other is planted.
 */

const server = await startTestPostgres()

const PASSWORD = "canary-password-of-the-role"
const ROLE = "svc_plain"
const MASTER_KEY = "Q2FuYXJ5IG9mIHRoZSBtYXN0ZXIga2V5ISEhISEhISE"
const OTHER_KEY = "QW5vdGhlciBjYW5hcnksIG9mIGFub3RoZXIga2V5ISE"
const HOOK_PATH = "canary-in-the-path-of-a-webhook"

const admin = <A, E>(use: (sql: PgClient.PgClient) => Effect.Effect<A, E>, database?: string) =>
  Effect.scoped(
    Effect.flatMap(PgClient.make({ url: Redacted.make(urlOf("postgres", database)), maxConnections: 1 }), use)
  ).pipe(Effect.provide(Reactivity.layer))

const urlOf = (role: string, database = "doctor"): string =>
  Object.assign(new URL(server?.url ?? "postgres://localhost"), {
    username: role,
    password: role === ROLE ? PASSWORD : "",
    pathname: `/${database}`
  }).href

/** Statements one by one, since some must not be in a transaction; none waits for a standby that is not there. */
const run = (...statements: ReadonlyArray<string>) =>
  admin((sql) =>
    Effect.forEach(["set synchronous_commit = local", ...statements], (text) => sql.unsafe(text).unprepared)
  )

const keyOf = (text: string) => Redacted.make(new Uint8Array(Buffer.from(text, "base64url")))

const ENV = {
  SVC_ENVIRONMENT: "test",
  SVC_STORE: urlOf(ROLE),
  SVC_BASE_URL: "http://localhost:8080",
  SVC_APPROVAL_BASE_URL: "http://localhost:8081",
  SVC_MASTER_KEY: MASTER_KEY
}

const canaries = new Canaries()
const printed: Array<string> = []

/** The findings by check, and everything that is printed of them kept for the canaries. */
const findingsWith = (env: Readonly<Record<string, string>> = {}, isReachAsked = false) =>
  storeFindings({ isReachAsked }).pipe(
    Effect.provideService(Network, { resolve: () => Effect.succeed([]) }),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { ...ENV, ...env } })),
    Effect.map((findings) => {
      printed.push(reportForPeople(findings), JSON.stringify(reportForPrograms(findings)))
      return new Map(findings.map((finding) => [finding.check, finding]))
    })
  )

type Findings = ReadonlyMap<string, Finding>

const statusesOf = (findings: Findings) =>
  Object.fromEntries([...findings].map(([check, { status }]) => [check, status]))

const ORGANIZATION: Organization = {
  id: "org_00000000000000000000000001",
  environment: "test",
  name: "Shop",
  returnOrigins: ["https://shop.example"],
  reportGraceSeconds: 0,
  passkeyEnrolment: "FIRST_USE"
}

const sealer = (key: string) => Layer.orDie(SecretSealerNodeCrypto.layer({ current: keyOf(key) }))

const store = () => PostgresStore.layer({ url: Redacted.make(urlOf(ROLE)), migrations: "run" })

/** A database of a plain role, with an organization, an endpoint, deliveries to it, and a signing key. */
const prepare = Effect.gen(function* () {
  yield* admin(
    (sql) =>
      Effect.forEach(
        [
          `create role ${ROLE} login password '${PASSWORD}'`,
          `create database doctor owner ${ROLE}`,
          "alter system set max_prepared_transactions = 5"
        ],
        (text) => sql.unsafe(text).unprepared
      ),
    "postgres"
  )
  yield* Effect.promise(() => server!.own!.shutDown())
  yield* Effect.promise(() => server!.own!.start())
  yield* Effect.gen(function* () {
    yield* Effect.flatMap(Organizations, ({ put }) => put(ORGANIZATION))
    yield* makeEndpoint(ORGANIZATION)
    yield* makeSampleData(ORGANIZATION)
    const key = yield* makeSigningKey
    yield* Effect.flatMap(SigningKeyRecords, ({ addFirst }) => addFirst(key))
  }).pipe(Effect.provide(Layer.merge(besideStore, sealer(MASTER_KEY))), Effect.provide(store()))
  yield* run(
    `update svc.webhook_endpoint set record = replace(record, 'hooks.shop.example/svc', 'hooks.shop.example/${HOOK_PATH}')`
  )
})

/** What is planted, what takes it back, and the checks that notice. */
interface Fault {
  readonly plant: ReadonlyArray<string>
  readonly heal: ReadonlyArray<string>
  readonly notices: Readonly<Record<string, readonly [status: string, found: RegExp]>>
}

const setting = (name: string, value: string) => ({
  plant: [`alter system set ${name} = '${value}'`],
  heal: [`alter system reset ${name}`]
})

const ofRole = (what: string, reset: string) => ({
  plant: [`alter role ${ROLE} ${what}`],
  heal: [`alter role ${ROLE} ${reset}`]
})

const OF_SERVER_AND_SCHEMA: ReadonlyArray<Fault> = [
  { ...setting("fsync", "off"), notices: { "database.fsync": ["failed", /power cut/u] } },
  {
    ...setting("full_page_writes", "off"),
    notices: { "database.full_page_writes": ["failed", /power cut/u] }
  },
  {
    ...setting("synchronous_standby_names", "gone"),
    notices: { "database.synchronous_standby": ["failed", /gone, and no such standby/u] }
  },
  {
    ...ofRole("set session_replication_role = replica", "reset session_replication_role"),
    notices: { "database.triggers": ["failed", /replica/u] }
  },
  {
    ...ofRole("connection limit 10", "connection limit -1"),
    notices: { "database.connections": ["warning", /of 10 connections/u] }
  },
  {
    plant: [`revoke insert on svc.event from ${ROLE}`],
    heal: [`grant insert on svc.event to ${ROLE}`],
    notices: { "database.privileges": ["failed", /INSERT on event/u] }
  },
  {
    plant: ["alter table svc.lease set (autovacuum_enabled = off)"],
    heal: ["alter table svc.lease reset (autovacuum_enabled)"],
    notices: { "database.autovacuum": ["warning", /lease/u] }
  },
  {
    plant: [
      "insert into svc.operator_log select 'org_0', 1, n::text, '', '', '[]' from generate_series(1, 20000) n",
      "delete from svc.operator_log where organization = 'org_0'",
      "select pg_stat_force_next_flush()"
    ],
    heal: ["vacuum svc.operator_log"],
    notices: { "database.bloat": ["warning", /operator_log \(\d+ dead rows/u] }
  },
  {
    plant: ["select lsn::text from pg_create_physical_replication_slot('left_behind', true)"],
    heal: ["select pg_drop_replication_slot('left_behind')"],
    notices: { "database.replication_slots": ["warning", /left_behind \(nobody uses it/u] }
  }
]

const OF_DATA: ReadonlyArray<Fault> = [
  {
    // Every other check finds what it found before, so none of them needs to write.
    ...ofRole("set default_transaction_read_only = on", "reset default_transaction_read_only"),
    notices: { "database.writable": ["failed", /read-only/u] }
  },
  {
    plant: ["update svc.history set cluster = '1'"],
    heal: ["update svc.history h set cluster = i.o_cluster from svc.database_identity() i"],
    notices: { "history.acknowledged": ["failed", /recorded on cluster 1,/u] }
  },
  {
    plant: ["update svc.event set position = position + 1000000000"],
    heal: ["update svc.event set position = position - 1000000000"],
    notices: { "history.positions": ["failed", /1 organization/u] }
  },
  {
    plant: ["update svc.signing_key set created_at = created_at - 500 * 86400 * 1000000000::bigint"],
    heal: ["update svc.signing_key set created_at = created_at + 500 * 86400 * 1000000000::bigint"],
    notices: { "keys.signing_key": ["warning", /for 500 days/u] }
  },
  {
    plant: [
      "update svc.stream set next_due = 1, wake_at = 1",
      "update svc.webhook_delivery set next_attempt_at = 1"
    ],
    heal: [
      `update svc.stream set next_due = ${2n ** 62n}, wake_at = ${2n ** 62n}`,
      "update svc.webhook_delivery set next_attempt_at = svc.store_clock()"
    ],
    notices: {
      "workers.due": ["failed", /no worker/u],
      "webhooks.backlog": ["warning", /are due, the oldest/u]
    }
  },
  {
    plant: [
      `insert into svc.organization select 'org_1', replace(replace(replace(record, '"test"', '"live"'),
        'https://', 'http://'), '${ORGANIZATION.id}', 'org_1') from svc.organization`
    ],
    heal: ["delete from svc.organization where organization = 'org_1'"],
    notices: {
      "organizations.environment": ["warning", /^org_1: of another/u],
      "organizations.return_origins": ["failed", /http:\/\/shop\.example of org_1/u],
      "organizations.billing": ["warning", /^org_1: live/u]
    }
  }
]

const OF_KEYS_ORIGINS_AND_ENDPOINTS: ReadonlyArray<Fault> = [
  {
    plant: ["update svc.webhook_endpoint set status = 'disabled'"],
    heal: ["update svc.webhook_endpoint set status = 'active'"],
    notices: { "webhooks.disabled": ["warning", /^whe_\S+ of org_/u] }
  },
  {
    plant: ["revoke execute on function pg_control_system() from public"],
    heal: ["grant execute on function pg_control_system() to public"],
    notices: { "history.acknowledged": ["warning", /does not tell its cluster/u] }
  },
  {
    plant: [`update svc.organization set record = replace(record, '"https://shop.example"', '')`],
    heal: [`update svc.organization set record = replace(record, '[]', '["https://shop.example"]')`],
    notices: { "organizations.return_origins": ["warning", /for want of/u] }
  },
  {
    plant: [],
    heal: [],
    notices: {
      "keys.master_key": ["failed", /no master key here opens signing key .*, secret of whe_/u],
      "keys.signing_key": ["failed", /does not open/u]
    }
  }
]

const OF_ROLE: ReadonlyArray<Fault> = [
  { ...ofRole("superuser", "nosuperuser"), notices: { "database.role": ["warning", /superuser/u] } },
  {
    plant: [],
    heal: [],
    notices: { "keys.master_key": ["warning", /alone opens 3 of 3 secrets/u] }
  }
]

/** Faults that are planted together, since no two of them are about the same, and the settings that go with them. */
const TOGETHER = [
  { of: "server and schema", faults: OF_SERVER_AND_SCHEMA, env: {} },
  { of: "data", faults: OF_DATA, env: {} },
  {
    of: "keys, origins and endpoints",
    faults: OF_KEYS_ORIGINS_AND_ENDPOINTS,
    env: { SVC_MASTER_KEY: OTHER_KEY }
  },
  {
    of: "the role, and a previous master key",
    faults: OF_ROLE,
    env: { SVC_MASTER_KEY: OTHER_KEY, SVC_MASTER_KEY_PREVIOUS: MASTER_KEY }
  }
]

const RELOAD = ["select pg_reload_conf()", "select pg_sleep(0.2)"]

describe.skipIf(server?.own === undefined)("svc doctor on a Postgres server", () => {
  afterAll(() => server?.stop())
  let sound: Findings = new Map()

  it.live("finds nothing wrong with a sound deployment", () =>
    Effect.gen(function* () {
      yield* prepare
      sound = yield* findingsWith()
      const faults = [...sound.values()].filter(({ status }) => status === "warning" || status === "failed")
      assert.deepStrictEqual(faults, [])
      assert.isAbove([...sound.values()].filter(({ status }) => status === "ok").length, 25)
    })
  )

  for (const { env, faults, of } of TOGETHER) {
    it.live(`notices each fault of ${of}, and no other`, () =>
      Effect.gen(function* () {
        const heal = run(...faults.flatMap((fault) => fault.heal), ...RELOAD)
        yield* run(...faults.flatMap(({ plant }) => plant), ...RELOAD)
        const found = yield* Effect.ensuring(findingsWith(env), Effect.orDie(heal))
        const notices = faults.flatMap((fault) => Object.entries(fault.notices))
        for (const [check, [status, text]] of notices) {
          const finding = found.get(check)
          assert.strictEqual(finding?.status, status, check)
          assert.match(finding?.found ?? "", text)
          assert.isDefined(finding?.remedy)
        }
        const expected = Object.fromEntries(notices.map(([check, [status]]) => [check, status]))
        assert.deepStrictEqual(statusesOf(found), { ...statusesOf(sound), ...expected })
      })
    )
  }

  it.live("notices a migration that is pending, examines the rest, and does not take it", () =>
    Effect.gen(function* () {
      yield* run("delete from svc.migration where name = 'partitions'")
      const found = yield* findingsWith()
      assert.deepInclude(found.get("database.migrations"), { status: "failed", remedy: "run svc migrate" })
      assert.strictEqual(found.get("database.privileges")?.status, "ok")
      assert.strictEqual(found.get("keys.signing_key")?.status, "skipped")
      const taken = yield* admin((sql) => sql.unsafe("select from svc.migration where name = 'partitions'"))
      assert.deepStrictEqual(taken, [])
      yield* run("insert into svc.migration (id, name) values (8, 'partitions')")
      const divided = yield* findingsWith({ SVC_STORE_PARTITIONS: "8" })
      assert.match(
        divided.get("database.migrations")?.found ?? "",
        /no partitions and .* asks for 8 partitions/u
      )
    })
  )

  it.live(
    "prints the SQL that gives the role what it lacks, and asks for nothing before the first migration",
    () =>
      Effect.gen(function* () {
        yield* run(`revoke usage on schema svc from ${ROLE}`, `revoke insert on svc.event from ${ROLE}`)
        yield* run(`alter schema svc owner to postgres`)
        const lacking = (yield* findingsWith()).get("database.privileges")
        const remedy = lacking?.remedy ?? ""
        assert.match(lacking?.found ?? "", /USAGE on the schema, INSERT on event/u)
        assert.match(
          remedy,
          /^let the role that owns the schema run: grant usage on schema svc to svc_plain; grant /u
        )
        yield* run(...remedy.replace(/^.* run: /u, "").split(/(?<=;) ?/u))
        assert.strictEqual((yield* findingsWith()).get("database.privileges")?.status, "ok")
        yield* run(`alter schema svc owner to ${ROLE}`, `create database unmigrated owner ${ROLE}`)
        const empty = yield* findingsWith({ SVC_STORE: urlOf(ROLE, "unmigrated") })
        assert.deepInclude(empty.get("database.migrations"), { status: "failed", remedy: "run svc migrate" })
        assert.strictEqual(empty.get("database.privileges")?.status, "skipped")
      })
  )

  it.live("does not compare a database with itself, which would lack nothing", () =>
    Effect.gen(function* () {
      const found = yield* findingsWith({ SVC_OTHER_STORE: urlOf(ROLE).replace("127.0.0.1", "localhost") })
      assert.deepInclude(found.get("history.missing"), { status: "failed" })
      assert.match(found.get("history.missing")?.found ?? "", /must name another database than SVC_STORE/u)
    })
  )

  it.live("notices a pending signing key that the master key does not open", () =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const records = yield* SigningKeyRecords
        yield* records.rotate(yield* makeSigningKey, { delay: 900n * NANOS_PER_SECOND })
      }).pipe(Effect.provide(sealer(OTHER_KEY)), Effect.provide(store()))
      const found = yield* findingsWith()
      assert.strictEqual(found.get("keys.pending_key")?.status, "failed")
      assert.strictEqual(found.get("keys.signing_key")?.status, "ok")
      yield* run("delete from svc.signing_key where signs_from > 0")
    })
  )

  it.live("knows which transactions hold the feed and vacuum back", () =>
    Effect.gen(function* () {
      yield* admin((holder) =>
        holder.withTransaction(
          Effect.gen(function* () {
            yield* holder.unsafe("create table held ()").unprepared
            const facts = yield* admin((sql) => transactionFacts(sql, 0))
            const { found, status } = transactionsCheck.judge({
              ...facts,
              open: facts.open.map((one) => ({ ...one, seconds: one.seconds + 700 }))
            })
            assert.strictEqual(status, "failed")
            assert.match(
              found,
              /^pid \d+ \(postgres on doctor, .*, 12 min, holds the feed and vacuum back\)/u
            )
            const asPlain = yield* findingsWith()
            assert.strictEqual(asPlain.get("database.long_transactions")?.status, "skipped")
            assert.match(asPlain.get("database.long_transactions")?.remedy ?? "", /pg_read_all_stats/u)
          })
        )
      )
      yield* run("begin", "create table prepared ()", "prepare transaction 'left'")
      const [prepared] = yield* admin(preparedTransactions)
      assert.strictEqual(preparedCheck.judge([prepared!]).status, "ok")
      const judged = preparedCheck.judge([{ ...prepared!, seconds: 100 }])
      assert.strictEqual(judged.status, "warning")
      assert.match(judged.found, /^'left' \(postgres on doctor, 100 s\)/u)
      yield* run("rollback prepared 'left'")
    })
  )

  it.live("notices that a connection does not keep its session, as behind a pooler in transaction mode", () =>
    admin((held) =>
      admin((spare) =>
        Effect.gen(function* () {
          let sent = 0
          // The pooler gives the first session to whoever begins a transaction meanwhile.
          const pooled = new Proxy(held, {
            get: (client, name) => Reflect.get(name === "unsafe" && sent++ > 0 ? spare : client, name)
          })
          assert.isTrue(yield* sharesSessions(pooled, held))
          assert.isFalse(yield* sharesSessions(spare, held))
        })
      )
    )
  )

  it.live("connects to endpoints when it is asked to, and sends nothing", () =>
    Effect.gen(function* () {
      const received: Array<Buffer> = []
      let connections = 0
      const receiver = createServer((socket) => {
        connections += 1
        socket.on("data", (bytes) => received.push(bytes))
        socket.on("error", () => socket.destroy())
      })
      const port = yield* Effect.callback<number>((resume) => {
        receiver.listen(0, "127.0.0.1", () => {
          const address = receiver.address()
          resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
        })
      })
      const place = `https://hooks.shop.example/${HOOK_PATH}`
      const local = `http://127.0.0.1:${port}/${HOOK_PATH}`
      const first = "(select min(endpoint) from svc.webhook_endpoint)"
      yield* run(
        `update svc.webhook_endpoint set record = replace(record, '${place}', '${local}') where endpoint = ${first}`
      )
      const found = yield* findingsWith({ SVC_WEBHOOK_ALLOW_LOOPBACK: "true" }, true)
      const reach = found.get("webhooks.reachable")
      assert.strictEqual(reach?.status, "warning")
      assert.match(
        reach?.found ?? "",
        /^1 of 2 active endpoints: whe_\S+ of org_\S+ \(its name has no address\)$/u
      )
      assert.strictEqual(connections, 1)
      assert.deepStrictEqual(received, [])
      receiver.close()
    })
  )

  it.live("examines the rest while the database is away", () =>
    Effect.gen(function* () {
      const refused = yield* findingsWith({
        SVC_STORE: urlOf(ROLE).replace(PASSWORD, "canary-of-a-wrong-one").replace("/doctor", "/nowhere")
      })
      assert.match(refused.get("database.connection")?.found ?? "", /"nowhere" does not exist/u)
      yield* Effect.promise(() => server!.own!.crash())
      const found = yield* findingsWith()
      assert.strictEqual(found.get("database.connection")?.status, "failed")
      assert.match(found.get("database.connection")?.found ?? "", /nothing accepts connections there$/u)
      assert.deepStrictEqual([...found.keys()], [...sound.keys()])
      assert.strictEqual(found.get("database.fsync")?.status, "skipped")
    })
  )

  it("has printed no secret", () => {
    canaries.plant("password", PASSWORD)
    canaries.plant("wrong password", "canary-of-a-wrong-one")
    canaries.plant("path of a webhook", HOOK_PATH)
    for (const key of [MASTER_KEY, OTHER_KEY])
      canaries.plantBytes("master key", Buffer.from(key, "base64url"))
    assert.isAbove(printed.length, 2 * TOGETHER.length)
    assert.deepStrictEqual(
      printed.flatMap((text) => canaries.foundIn(text)),
      []
    )
    assert.deepStrictEqual(canaries.foundIn(`${printed[0]} ${ENV.SVC_STORE}`), ["password"])
  })
})
