import { spawn, spawnSync } from "node:child_process"
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import {
  asPlainUser,
  ended,
  freePort,
  giveToPlainUser,
  signalAll,
  type TestPostgres
} from "./TestPostgres.ts"

/** A second server that follows a primary, and may take its place. */
export interface TestStandby {
  readonly url: string
  /** Waits until it has everything that the primary has recorded. */
  readonly catchUp: () => Promise<void>
  /** Waits until it shows everything that it has got, from a primary that may be lost. */
  readonly caughtUp: () => Promise<void>
  /** From now on it gets nothing of what the primary records, as behind a network that is cut. */
  readonly disconnect: () => Promise<void>
  /** It follows the primary again. */
  readonly reconnect: () => Promise<void>
  /** Makes it a primary with what it has, and waits until it takes writes. */
  readonly promote: () => Promise<void>
  /** Ends it at once, as a crash would. */
  readonly crash: () => Promise<void>
  /** Ends all of its processes in the same moment, as a power cut would. */
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** The name by which the primary knows it. */
const STANDBY_NAME = "svc_test_standby"

/** How soon a standby asks its primary again. Five seconds unless it is told. */
const RETRY_INTERVAL = "100ms"

const POLLS = 1200
const POLL_MILLISECONDS = 50

/** An address that stays while one server takes the place of another, as operators keep one for their services. */
export interface TestAddress {
  readonly url: string
  /** Ends what is connected; from now on another server is behind it. */
  readonly moveTo: (url: string) => void
  readonly stop: () => Promise<void>
}

export const startAddress = async (first: string): Promise<TestAddress> => {
  let target = new URL(first)
  const sockets = new Set<Socket>()
  const relay = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near]
    ] as const) {
      sockets.add(socket)
      socket.on("error", () => other.destroy())
      socket.on("close", () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve))
  const address = relay.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const disconnectAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    moveTo: (url) => {
      target = new URL(url)
      disconnectAll()
    },
    stop: () =>
      new Promise((resolve) => {
        relay.close(() => resolve())
        disconnectAll()
      })
  }
}

type Row = Readonly<Record<string, string | boolean | null>>

/** Works in one session of a server. */
const inSession = (url: string, use: (client: PgClient.PgClient) => Effect.Effect<void, unknown>) =>
  Effect.flatMap(PgClient.make({ url: Redacted.make(url), maxConnections: 1 }), use).pipe(
    Effect.scoped,
    Effect.provide(Reactivity.layer),
    Effect.runPromise
  )

/** The first row of a statement, sent to one server. */
export const rowOf = async (url: string, statement: string): Promise<Row | undefined> => {
  let found: Row | undefined
  await inSession(url, (client) =>
    Effect.map(client.unsafe<Row>(statement).unprepared, ([row]) => {
      found = row
    })
  )
  return found
}

const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
  for (let poll = 0; poll < POLLS; poll++) {
    if (await isSo().catch(() => false)) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS))
  }
  throw new Error(`in vain: ${what}`)
}

/** Copies the folder of a server that runs, in the way that its manual prescribes. */
const copyData = (url: string, data: string): Promise<void> =>
  inSession(url, (client) =>
    Effect.gen(function* () {
      const [{ folder } = { folder: "" }] = yield* client.unsafe<{ folder: string }>(
        "select current_setting('data_directory') as folder"
      )
      yield* client.unsafe("select pg_backup_start('standby', true)::text")
      const { status, stderr } = spawnSync("cp", ["-a", folder, data], { ...asPlainUser, encoding: "utf8" })
      if (status !== 0) return yield* Effect.die(new Error(stderr))
      const [backup] = yield* client.unsafe<{ labelfile: string }>(
        "select labelfile from pg_backup_stop(false)"
      )
      rmSync(join(data, "postmaster.pid"), { force: true })
      for (const [name, text] of [
        ["backup_label", backup?.labelfile ?? ""],
        ["standby.signal", ""]
      ] as const) {
        writeFileSync(join(data, name), text)
        giveToPlainUser(join(data, name))
      }
    })
  )

/**
 * Starts a standby of a server of the tests' own, and waits until it follows. With `synchronous` the primary acknowledges
 * nothing that the standby has not written.
 */
export const startStandby = async (
  primary: Pick<TestPostgres, "url">,
  { port: given, synchronous = false }: { readonly synchronous?: boolean; readonly port?: number } = {}
): Promise<TestStandby> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-standby-"))
  giveToPlainUser(folder)
  const [data, sockets] = [join(folder, "data"), join(folder, "sockets")]
  mkdirSync(sockets)
  giveToPlainUser(sockets)
  await copyData(primary.url, data)
  const { hostname, port: primaryPort } = new URL(primary.url)
  const connection = `host=${hostname} port=${primaryPort} user=postgres application_name=${STANDBY_NAME}`
  appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${connection}'\n`)
  const programs = await rowOf(primary.url, "select setting from pg_config where name = 'BINDIR'")
  const port = given ?? (await freePort())
  const server = spawn(
    join(String(programs?.setting), "postgres"),
    [
      ...["-D", data, "-p", String(port), "-k", sockets],
      ...["listen_addresses=127.0.0.1", `wal_retrieve_retry_interval=${RETRY_INTERVAL}`].flatMap(
        (setting) => ["-c", setting]
      )
    ],
    { ...asPlainUser, cwd: folder, stdio: "ignore" }
  )
  const leave = () => void server.kill("SIGQUIT")
  process.on("exit", leave)
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`

  const isSo = async (at: string, condition: string): Promise<boolean> =>
    (await rowOf(at, `select (${condition}) as is_so`))?.is_so === true
  const follows = `exists (select from pg_stat_replication where application_name = '${STANDBY_NAME}'
    and state = 'streaming' ${synchronous ? "and sync_state = 'sync'" : ""})`
  if (synchronous) {
    await rowOf(primary.url, `alter system set synchronous_standby_names = '${STANDBY_NAME}'`)
    await rowOf(primary.url, "select pg_reload_conf()")
  }
  await until("a standby that follows", () => isSo(primary.url, follows))

  return {
    url,
    catchUp: async () => {
      const head = await rowOf(primary.url, "select pg_current_wal_flush_lsn()::text as lsn")
      await until("a standby that has everything", () =>
        isSo(url, `pg_last_wal_replay_lsn() >= '${head?.lsn}'`)
      )
    },
    caughtUp: () =>
      until("a standby that shows what it has", () =>
        isSo(url, "pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()")
      ),
    disconnect: async () => {
      await rowOf(url, "alter system set primary_conninfo = ''")
      await rowOf(url, "select pg_reload_conf()")
      await until("a standby that gets nothing", () =>
        isSo(url, "not exists (select from pg_stat_wal_receiver)")
      )
      await until("a primary that nobody follows", () =>
        isSo(primary.url, "not exists (select from pg_stat_replication)")
      )
    },
    reconnect: async () => {
      await rowOf(url, `alter system set primary_conninfo = '${connection}'`)
      await rowOf(url, "select pg_reload_conf()")
      await until("a standby that follows", () => isSo(primary.url, follows))
    },
    promote: async () => {
      await rowOf(url, "select pg_promote()")
      await until("a standby that takes writes", () => isSo(url, "not pg_is_in_recovery()"))
    },
    crash: async () => {
      server.kill("SIGQUIT")
      await ended(server)
    },
    kill: async () => {
      signalAll(server, "SIGKILL")
      await ended(server)
    },
    stop: async () => {
      process.off("exit", leave)
      server.kill("SIGINT")
      await ended(server)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
