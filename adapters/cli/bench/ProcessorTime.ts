import { existsSync, readdirSync, readFileSync } from "node:fs"

/** Clock ticks per second that Linux counts processor time in, on every platform that Node runs on. */
const TICKS_PER_SECOND = 100

interface ProcessStat {
  readonly parent: number
  /** Seconds of the process. */
  readonly own: number
  /** Seconds of its children that have ended. */
  readonly ended: number
}

/** What Linux tells about a process; `undefined` elsewhere, and of a process that is gone. */
const statOf = (pid: number | string): ProcessStat | undefined => {
  const path = `/proc/${pid}/stat`
  if (!existsSync(path)) return undefined
  try {
    const text = readFileSync(path, "latin1")
    // The name, in parentheses, may hold spaces.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const seconds = (index: number) => Number(fields[index]) / TICKS_PER_SECOND
    return { parent: Number(fields[1]), own: seconds(11) + seconds(12), ended: seconds(13) + seconds(14) }
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined
    throw error
  }
}

/** Seconds of processor time that a process has used, in user and in system mode; NaN where that is not told. */
export const processSeconds = (pid: number): number => statOf(pid)?.own ?? Number.NaN

/** The same of a process with all its children, those that have ended too. */
const familySeconds = (pid: number): number => {
  const first = statOf(pid)
  if (first === undefined) return Number.NaN
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(statOf)
    .filter((stat) => stat?.parent === pid)
  return children.reduce((sum, stat) => sum + stat!.own, first.own + first.ended)
}

/**
 * Reads the seconds of a Postgres server on this machine, with those of all its sessions; NaN of one elsewhere. `query` sends
 * a statement to it.
 */
export const databaseSeconds = async (
  query: (text: string) => Promise<ReadonlyArray<object>>
): Promise<() => number> => {
  const [session] = (await query("select pg_backend_pid() as pid")) as ReadonlyArray<{ readonly pid: number }>
  const first = statOf(session?.pid ?? 0)?.parent ?? 0
  return () => familySeconds(first)
}
