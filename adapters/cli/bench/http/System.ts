import { processSeconds } from "../ProcessorTime.ts"
import type { HttpSystem } from "./HttpSystem.ts"
import type { Load, LoadResult } from "./Load.ts"

/**
 * `embedded` is our service without HTTP, in the process that makes the load; `webhook` is `ours` for a tenant with a webhook
 * endpoint, `against` the service of another checkout.
 */
export type SystemName = "pgbench" | "service" | "grouped" | "embedded" | "ours" | "webhook" | "against"

/** One of the things that are measured of each system. */
export interface Cell {
  readonly mandates: "uniform" | "hot"
  readonly connections: number
}

/** The mandates from the one number up to, and without, the other. */
export interface Measurement {
  readonly from: number
  readonly to: number
  readonly connections: number
  readonly seconds: number
}

export interface Measured {
  readonly pairsPerSecond: number
  readonly pairsOfClients: ReadonlyArray<number>
  /** How long each pair took. */
  readonly milliseconds: ReadonlyArray<number>
  /** Pairs that the processor time was used for, with those that ended after the time was over. */
  readonly allPairs: number
  /** Processor time of the server process, with what was left to do; NaN where there is none, or it is not told. */
  readonly serverSeconds: number
  /** What went wrong, and how often. */
  readonly faults: ReadonlyArray<readonly [string, number]>
}

export interface Figures extends Measured {
  /** Processor time of all processes of Postgres meanwhile. */
  readonly databaseSeconds: number
}

export interface System {
  /** Returns once what the load left to do is done, too. */
  readonly measure: (asked: Measurement) => Promise<Measured>
  /** Compares what the system has recorded with all pairs that were measured. */
  readonly recount: () => Promise<ReadonlyArray<string>>
}

/** A process whose work for pairs is measured. */
export interface MeasuredProcess {
  readonly pid: number
  /** Waits until what the load left to do is done: it would be at the cost of who is measured next. */
  readonly settle: () => Promise<void>
  /** What a recount of its tables finds wrong, given the pairs of each mandate. */
  readonly recount: (pairs: ReadonlyMap<string, number>) => Promise<ReadonlyArray<string>>
}

/** A process under a load, and how the load is put on it. */
export const measureProcess = (
  { pid, recount, settle }: MeasuredProcess,
  mandates: ReadonlyArray<string>,
  load: (asked: Pick<Load, "mandates" | "connections" | "seconds">) => Promise<LoadResult>
): System => {
  const pairs = new Map<string, number>()
  return {
    measure: async ({ connections, from, seconds, to }) => {
      const before = processSeconds(pid)
      const result = await load({ mandates: mandates.slice(from, to), connections, seconds })
      await settle()
      const serverSeconds = processSeconds(pid) - before
      let allPairs = 0
      for (const [mandate, count] of Object.entries(result.committed)) {
        allPairs += count
        pairs.set(mandate, (pairs.get(mandate) ?? 0) + count)
      }
      const { milliseconds, pairsOfClients } = result
      return {
        pairsPerSecond: milliseconds.length / seconds,
        pairsOfClients,
        milliseconds,
        allPairs,
        serverSeconds,
        faults: Object.entries(result.faults)
      }
    },
    recount: () => recount(pairs)
  }
}

/** A server under a load from another process. */
export const measureHttp = (
  server: HttpSystem,
  mandates: ReadonlyArray<string>,
  load: (asked: Load) => Promise<LoadResult>
): System =>
  measureProcess(server, mandates, (asked) => load({ ...asked, port: server.port, apiKey: server.apiKey }))
