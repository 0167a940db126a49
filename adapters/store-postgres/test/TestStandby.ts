import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  asPlainUser,
  ended,
  freePort,
  initialize,
  isReady,
  plainFolder,
  usableFolder
} from "./TestPostgres.ts"

/** One of two servers, of which the second follows the first. */
export interface ReplicatedServer {
  readonly url: string
  /** Ends the server at once, as a crash would. */
  readonly crash: () => Promise<void>
}

export interface ReplicatedPair {
  readonly primary: ReplicatedServer
  readonly standby: ReplicatedServer & {
    /** Ends the recovery: from then on it takes writes. */
    readonly promote: () => void
  }
  readonly stop: () => Promise<void>
}

const START_ATTEMPTS = 400
const START_PAUSE_MILLISECONDS = 50

const pause = () => new Promise((resolve) => setTimeout(resolve, START_PAUSE_MILLISECONDS))

const startIn = async (native: string, folder: string, data: string, port: number): Promise<ChildProcess> => {
  const server = spawn(
    join(native, "bin", "postgres"),
    ["-D", data, "-p", String(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    { ...asPlainUser, cwd: folder, stdio: "ignore" }
  )
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    if (isReady(native, port)) return server
    await pause()
  }
  throw new Error("a test server does not start")
}

/**
 * A primary and a standby that follows it. The standby begins as a copy of the empty cluster, which is what a base
 * backup of it would be. `undefined` where there is no server of one's own to be had.
 */
export const startReplicatedPair = async (): Promise<ReplicatedPair | undefined> => {
  const folder = plainFolder(mkdtempSync(join(tmpdir(), "svc-standby-")))
  const native = usableFolder(folder)
  const data = join(folder, "primary")
  const copy = join(folder, "standby")
  if (native === undefined || !initialize(native, data)) {
    rmSync(folder, { recursive: true, force: true })
    return undefined
  }
  spawnSync("cp", ["-a", data, copy])
  const ports = [await freePort(), await freePort()] as const
  writeFileSync(join(copy, "standby.signal"), "")
  appendFileSync(
    join(copy, "postgresql.conf"),
    `primary_conninfo = 'host=127.0.0.1 port=${ports[0]} user=postgres application_name=standby'\n`
  )
  const primary = await startIn(native, folder, data, ports[0])
  const standby = await startIn(native, folder, copy, ports[1])
  const servers = [primary, standby]
  const leave = () => {
    for (const server of servers) server.kill("SIGQUIT")
  }
  process.on("exit", leave)
  const serverAt = (server: ChildProcess, port: number): ReplicatedServer => ({
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    crash: async () => {
      server.kill("SIGQUIT")
      await ended(server)
    }
  })
  return {
    primary: serverAt(primary, ports[0]),
    standby: {
      ...serverAt(standby, ports[1]),
      promote: () => {
        const { status } = spawnSync(join(native, "bin", "pg_ctl"), ["promote", "-w", "-D", copy], {
          ...asPlainUser,
          cwd: folder
        })
        if (status !== 0) throw new Error("the standby is not promoted")
      }
    },
    stop: async () => {
      process.off("exit", leave)
      leave()
      await Promise.all(servers.map(ended))
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
