import { type ChildProcess, spawn } from "node:child_process"
import { freePort } from "../test/TestPostgres.ts"
import type { DeploymentFolder } from "./DeploymentFolder.ts"
import { PROGRAMS, ROOT } from "./ServerProgram.ts"

const POLL_MILLISECONDS = 25
const PROBE_TIMEOUT_MILLISECONDS = 2000
const RESTART_PAUSE_MILLISECONDS = 500
/** Longest that a process may take until it is ready; the machine is busy meanwhile. */
const START_TIMEOUT_MILLISECONDS = 180_000
const KEPT_OUTPUT_CHARACTERS = 4000

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** One server that is started again, at the same address, whenever its process is killed. */
export interface FleetServer {
  readonly url: string
  /** Whether its process has answered that it is ready. */
  readonly isReady: () => boolean
  /** SIGKILL, and a new process at once. `false` if there was no process, or one that is killed already. */
  readonly kill: () => boolean
  /** How many processes `kill` has hit. */
  readonly kills: () => number
  /** Stops the process where it is; it goes on with `resume`. */
  readonly freeze: () => void
  readonly resume: () => void
  /** SIGKILL, and no new process; resolves when it has gone. */
  readonly end: () => Promise<void>
  readonly untilReady: () => Promise<void>
}

export interface FleetOptions {
  readonly program: "serve" | "development"
  readonly folder: DeploymentFolder
  /** What `SVC_STORE` says. */
  readonly store: string
  /** Further arguments of Node, and further variables. */
  readonly nodeArguments?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Told how long a process took until it was ready. */
  readonly onReady?: (milliseconds: number) => void
  /** Told of a process that ended or did not start by itself, or that logged an error. */
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

interface Ports {
  readonly port: number
  readonly approvalPort: number
}

const settingsOf = ({ env, folder, program, store }: FleetOptions, { approvalPort, port }: Ports) => ({
  SVC_STORE: store,
  SVC_PORT: String(port),
  SVC_APPROVAL_PORT: String(approvalPort),
  SVC_RATE_LIMIT: "off",
  SVC_LOG_LEVEL: "error",
  ...(program === "development"
    ? { SVC_DATA_DIR: folder.path }
    : {
        SVC_ENVIRONMENT: "test",
        SVC_BASE_URL: `http://localhost:${port}`,
        SVC_APPROVAL_BASE_URL: `http://localhost:${approvalPort}`,
        SVC_MASTER_KEY: folder.masterKey
      }),
  ...env
})

/** The last of what a process says, for the report of a fault. Every line of its log is one: nothing but errors is logged. */
const listen = (child: ChildProcess, onLogged: (line: string) => void): (() => string) => {
  let output = ""
  let unfinished = ""
  const keep = (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-KEPT_OUTPUT_CHARACTERS)
    const lines = `${unfinished}${chunk}`.split("\n")
    unfinished = lines.pop() ?? ""
    for (const line of lines) if (line.startsWith("{")) onLogged(line)
  }
  child.stdout?.on("data", keep)
  child.stderr?.on("data", keep)
  return () => output
}

/** Starts one server of the fleet. */
export const startServer = async (options: FleetOptions): Promise<FleetServer> => {
  const { nodeArguments = [], onFault, program } = options
  const ports = { port: await freePort(), approvalPort: await freePort() }
  const url = `http://127.0.0.1:${ports.port}`
  const life: { process?: ChildProcess; killed: boolean; kills: number; ready: boolean; wanted: boolean } = {
    killed: false,
    kills: 0,
    ready: false,
    wanted: true
  }

  const watch = async (child: ChildProcess): Promise<void> => {
    const begun = Date.now()
    const deadline = begun + START_TIMEOUT_MILLISECONDS
    while (life.process === child && child.exitCode === null && child.signalCode === null) {
      if (await probe(url)) {
        if (life.process !== child || life.killed) return
        life.ready = true
        return options.onReady?.(Date.now() - begun)
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
    const child = spawn(process.execPath, [...nodeArguments, ...PROGRAMS[program]], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...settingsOf(options, ports) }
    })
    const output = listen(child, (line) => onFault(`a server logged ${line}`))
    child.on("exit", (code, signal) => {
      life.ready = false
      const wasKilled = signal === "SIGKILL"
      if (!wasKilled) onFault(`a server ended by itself with ${code ?? signal}: ${output()}`)
      if (life.wanted) setTimeout(() => life.wanted && launch(), wasKilled ? 0 : RESTART_PAUSE_MILLISECONDS)
    })
    life.process = child
    life.killed = false
    life.ready = false
    void watch(child)
  }

  const kill = (): boolean => {
    if (life.killed) return false
    life.ready = false
    life.killed = life.process?.kill("SIGKILL") ?? false
    if (life.killed) life.kills++
    return life.killed
  }

  launch()
  process.on("exit", kill)
  return {
    url,
    isReady: () => life.ready,
    kill,
    kills: () => life.kills,
    freeze: () => void life.process?.kill("SIGSTOP"),
    resume: () => void life.process?.kill("SIGCONT"),
    end: async () => {
      life.wanted = false
      process.off("exit", kill)
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
