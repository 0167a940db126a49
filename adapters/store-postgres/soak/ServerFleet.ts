import { type ChildProcess, spawn } from "node:child_process"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const ROOT = fileURLToPath(new URL("../../../", import.meta.url))
const SERVER = join(ROOT, "adapters/http-server/src/bin/dev.ts")

const POLL_MILLISECONDS = 25
const PROBE_TIMEOUT_MILLISECONDS = 2000
const RESTART_PAUSE_MILLISECONDS = 500
/** Longest that a process may take until it is ready; the machine is busy meanwhile. */
const START_TIMEOUT_MILLISECONDS = 90_000
const KEPT_OUTPUT_CHARACTERS = 4000

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** One server that is started again, at the same address, whenever its process is killed. */
export interface FleetServer {
  readonly url: string
  /** Whether its process has answered that it is ready. */
  readonly isReady: () => boolean
  /** SIGKILL, and a new process at once. */
  readonly kill: () => void
  /** SIGKILL, and no new process; resolves when it has gone. */
  readonly end: () => Promise<void>
  readonly untilReady: () => Promise<void>
}

export interface FleetOptions {
  /** Settings of every process. */
  readonly env: Readonly<Record<string, string>>
  /** Told how long a process took until it was ready. */
  readonly onReady: (milliseconds: number) => void
  /** Told of a process that ended, or did not start, by itself. */
  readonly onFault: (fault: string) => void
}

const probe = async (url: string): Promise<boolean> => {
  try {
    const { ok } = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MILLISECONDS) })
    return ok
  } catch {
    return false
  }
}

/** Starts one server of the fleet. */
export const startServer = async ({ env, onFault, onReady }: FleetOptions): Promise<FleetServer> => {
  const [port, approvalPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const life: { process?: ChildProcess; ready: boolean; wanted: boolean } = { ready: false, wanted: true }

  const watch = async (child: ChildProcess): Promise<void> => {
    const begun = Date.now()
    const deadline = begun + START_TIMEOUT_MILLISECONDS
    while (life.process === child && child.exitCode === null && child.signalCode === null) {
      if (await probe(url)) {
        if (life.process !== child) return
        life.ready = true
        return onReady(Date.now() - begun)
      }
      if (Date.now() > deadline) {
        onFault(`the server at ${url} was not ready in time`)
        child.kill("SIGKILL")
        return
      }
      await pause(POLL_MILLISECONDS)
    }
  }

  const launch = (): void => {
    const child = spawn(process.execPath, [SERVER], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        SVC_RATE_LIMIT: "off",
        SVC_LOG_LEVEL: "error",
        ...env,
        SVC_PORT: String(port),
        SVC_APPROVAL_PORT: String(approvalPort)
      }
    })
    let output = ""
    const keep = (chunk: Buffer) => {
      output = `${output}${chunk}`.slice(-KEPT_OUTPUT_CHARACTERS)
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    child.on("exit", (code, signal) => {
      life.ready = false
      const wasKilled = signal === "SIGKILL"
      if (!wasKilled) onFault(`a server ended by itself with ${code ?? signal}: ${output}`)
      if (life.wanted) setTimeout(() => life.wanted && launch(), wasKilled ? 0 : RESTART_PAUSE_MILLISECONDS)
    })
    life.process = child
    life.ready = false
    void watch(child)
  }

  launch()
  const leave = () => life.process?.kill("SIGKILL")
  process.on("exit", leave)
  return {
    url,
    isReady: () => life.ready,
    kill: () => {
      life.ready = false
      life.process?.kill("SIGKILL")
    },
    end: async () => {
      life.wanted = false
      process.off("exit", leave)
      const child = life.process
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()))
      child.kill("SIGKILL")
      await gone
    },
    untilReady: async () => {
      const deadline = Date.now() + 2 * START_TIMEOUT_MILLISECONDS
      while (!life.ready) {
        if (Date.now() > deadline) throw new Error(`no process serves ${url}`)
        await pause(POLL_MILLISECONDS)
      }
    }
  }
}
