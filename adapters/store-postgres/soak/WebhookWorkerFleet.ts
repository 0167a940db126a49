import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { pause } from "./ServerFleet.ts"
import { ROOT } from "./ServerProgram.ts"
import type { WebhookPlace } from "./WebhookPorts.ts"

const PROGRAM = fileURLToPath(new URL("./WebhookWorkerProgram.ts", import.meta.url))
const POLL_MILLISECONDS = 5
const KEPT_OUTPUT_CHARACTERS = 4000
/** Longest that a process may take until it works; the machine is busy meanwhile. */
const START_TIMEOUT_MILLISECONDS = 180_000

/** Processes that deliver webhooks; each that is killed is started again at once. */
export interface WebhookWorkerFleet {
  /** Processes that work, by their number. */
  readonly working: () => ReadonlyArray<number>
  /** Processes that are there, those included that still start. */
  readonly living: () => ReadonlyArray<number>
  /** SIGKILL to a process of the fleet; `false` if it is none, or has been killed already. */
  readonly kill: (pid: number | undefined) => boolean
  readonly kills: () => number
  readonly untilAllWork: () => Promise<void>
  /** Ends all of them, for good. */
  readonly end: () => Promise<void>
}

interface Worker {
  process: ChildProcess
  isWorking: boolean
  isKilled: boolean
}

/** Starts so many processes; `onFault` is told of each that ends by itself, and of every warning in their logs. */
export const startWebhookWorkers = (
  place: WebhookPlace,
  count: number,
  onFault: (fault: string) => void
): WebhookWorkerFleet => {
  let isWanted = true
  let kills = 0
  const workers = new Set<Worker>()

  const launch = (): void => {
    const child = spawn(process.execPath, [PROGRAM], {
      cwd: ROOT,
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        ...process.env,
        SOAK_URL: place.url,
        SOAK_SCHEMA: place.schema,
        SOAK_MASTER_KEY: place.masterKey
      }
    })
    const worker: Worker = { process: child, isWorking: false, isKilled: false }
    workers.add(worker)
    let output = ""
    const keep = (chunk: Buffer) => {
      output = `${output}${chunk}`.slice(-KEPT_OUTPUT_CHARACTERS)
      if (output.startsWith("working\n")) {
        worker.isWorking = true
        output = output.slice("working\n".length)
      }
      if (output.endsWith("\n")) {
        onFault(`a worker logged ${output}`)
        output = ""
      }
    }
    child.stdout?.on("data", keep)
    child.stderr?.on("data", keep)
    child.on("exit", (code, signal) => {
      workers.delete(worker)
      if (!worker.isKilled) onFault(`a worker ended by itself with ${code ?? signal}: ${output}`)
      if (isWanted) launch()
    })
  }

  const killOne = (worker: Worker): boolean => {
    if (worker.isKilled) return false
    worker.isKilled = worker.process.kill("SIGKILL")
    worker.isWorking = false
    return worker.isKilled
  }

  const pidsOf = (isMeant: (worker: Worker) => boolean): ReadonlyArray<number> =>
    [...workers].filter(isMeant).flatMap(({ process: { pid } }) => (pid === undefined ? [] : [pid]))

  while (workers.size < count) launch()
  return {
    working: () => pidsOf(({ isWorking }) => isWorking),
    living: () => pidsOf(({ isKilled }) => !isKilled),
    kill: (pid) => {
      const worker = [...workers].find((one) => one.process.pid === pid)
      if (worker === undefined || !killOne(worker)) return false
      kills += 1
      return true
    },
    kills: () => kills,
    untilAllWork: async () => {
      const deadline = Date.now() + START_TIMEOUT_MILLISECONDS
      while (pidsOf(({ isWorking }) => isWorking).length < count) {
        if (Date.now() > deadline) throw new Error("the workers do not start")
        await pause(POLL_MILLISECONDS)
      }
    },
    end: async () => {
      isWanted = false
      for (const worker of workers) killOne(worker)
      while (workers.size > 0) await pause(POLL_MILLISECONDS)
    }
  }
}
