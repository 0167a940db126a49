import { readFileSync } from "node:fs"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { Effect } from "effect"

/** Time on a processor of one process so far, in nanoseconds: the first number of Linux's `schedstat`. */
const processorTimeOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0])

/** The server's processes for the sessions of that `application_name`. */
export const sessionsOf = (
  client: PgClient,
  applicationName: string
): Effect.Effect<ReadonlyArray<number>, unknown> =>
  Effect.map(
    client<{
      readonly pid: number
    }>`select pid from pg_stat_activity where application_name = ${applicationName}`,
    (rows) => rows.map(({ pid }) => pid)
  )

/** Processor time of those processes so far, in microseconds. They must be of this machine. */
export const serverTime = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => sum + processorTimeOf(pid), 0) / 1000
