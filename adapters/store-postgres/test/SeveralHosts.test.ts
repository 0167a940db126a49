import { spawnSync } from "node:child_process"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { StoreHistory } from "@svc/domain/ports/StoreHistory"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { Context, Effect, Layer, Redacted } from "effect"
import { ROOT, SVC } from "../soak/ServerProgram.ts"
import { SeveralPrimaries } from "../src/connection/HostAnswer.ts"
import { serverConnection } from "../src/connection/ServerConnection.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import {
  addEvent,
  assertUnavailable,
  assertWhole,
  bounded,
  newMandate,
  recovered
} from "./StreamUnderFaults.ts"
import { freePort, startTestPostgres, type TestPostgres } from "./TestPostgres.ts"
import { rowOf, startStandby } from "./TestStandby.ts"

const primary = await startTestPostgres()
const port = await freePort()
const standby = primary?.own === undefined ? undefined : await startStandby(primary, { port })

/** The standby is the first in the list. */
const hosts = [`127.0.0.1:${port}`, new URL(primary?.url ?? "postgres://none").host]
const url = `postgres://postgres@${hosts}/postgres`

const options = Effect.map(serverConnection(Redacted.make(url)), (connection) => connection.options)

const opened = (migrations: "run" | "require") =>
  Effect.flatMap(options, (own) => Layer.build(Layer.fresh(PostgresStore.layer({ ...own, migrations }))))

/** The finding of `svc doctor` about the hosts. */
const doctor = () => {
  const { stdout } = spawnSync(process.execPath, [SVC, "doctor", "--json"], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...leastEnvironment(), SVC_STORE: url }
  })
  const { checks } = JSON.parse(stdout) as { readonly checks: ReadonlyArray<Record<string, string>> }
  const [found] = checks.filter(({ check }) => check === "database.hosts")
  return `${found?.status}: ${found?.found}`
}

describe.skipIf(standby === undefined)("a store with a list of hosts", () => {
  afterAll(async () => {
    await standby?.stop()
    await primary?.stop()
  })

  it.live("uses the one that takes writes, follows it, and refuses two that differ", () =>
    Effect.gen(function* () {
      const ports = yield* opened("run")
      const store = Context.get(ports, MandateStore)
      const { acknowledge } = Context.get(ports, StoreHistory)
      const place = yield* newMandate(store)
      yield* Effect.promise(() => standby!.catchUp())
      assert.strictEqual(doctor(), `ok: ${hosts[1]} takes writes and is used; ${hosts[0]}: it is a standby`)

      yield* Effect.promise(() => primary!.own!.kill())
      assertUnavailable(yield* bounded(addEvent(store, place)))
      yield* Effect.promise(() => standby!.promote())
      yield* recovered(acknowledge({ isLossless: true, isRestored: false }))
      yield* recovered(addEvent(store, place))
      yield* assertWhole(store, place, 2)

      // The old primary comes back as if nothing had happened. Who is connected stays; nobody else takes it.
      yield* Effect.promise(() => primary!.own!.start())
      yield* addEvent(store, place)
      const { reason } = yield* Effect.flip(
        Effect.flatMap(options, (own) => PostgresStore.checkSession(own)).pipe(
          Effect.catchTag(["SettingsIgnored", "TimeoutError", "RootCertificateUnreadable"], Effect.die)
        )
      )
      assert.instanceOf(reason.cause, SeveralPrimaries)
      assert.match(
        reason.message,
        /take writes and are not the same server: stop the one that is not the primary/u
      )
      yield* Effect.promise(() => primary!.own!.crash())
      yield* recovered(addEvent(store, place))
      yield* assertWhole(store, place, 4)
    }).pipe(Effect.scoped)
  )
})

describe.skipIf(primary?.own === undefined)("a list of hosts with a copy of a server's disk", () => {
  const running: Array<TestPostgres> = []
  afterAll(() => Promise.all(running.map(({ stop }) => stop())))

  it.live("is refused while both take writes, and one server by two names is not", () =>
    Effect.gen(function* () {
      const [original, copy] = yield* Effect.promise(async () => {
        const first = (await startTestPostgres())!
        running.push(first)
        await first.own!.shutDown()
        const second = await first.own!.startCopy()
        running.push(second)
        await first.own!.start()
        return [first, second] as const
      })
      // By what a server says of its data, they cannot be told apart.
      const identity =
        "select system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline from pg_control_system()"
      const [one, other] = yield* Effect.promise(() =>
        Promise.all([rowOf(original.url, identity), rowOf(copy.url, identity)])
      )
      assert.deepStrictEqual(one, other)

      const checked = (...list: ReadonlyArray<string>) =>
        serverConnection(Redacted.make(`postgres://postgres@${list.join(",")}/postgres`)).pipe(
          Effect.flatMap(({ options: own }) => PostgresStore.checkSession(own))
        )
      const port = new URL(original.url).port
      yield* checked(`127.0.0.1:${port}`, `localhost:${port}`)
      const fault = yield* Effect.flip(checked(`127.0.0.1:${port}`, new URL(copy.url).host))
      assert.match(String(fault), /take writes and are not the same server/u)
    })
  )
})
