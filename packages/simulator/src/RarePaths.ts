/** Paths that a simulation is meant to reach, however rarely. */
const PATHS = [
  "expiry between load and append",
  "superseded session races an approval",
  "late report",
  "endpoint reactivated in mid-attempt",
  "stale batch",
  "paused worker",
  "rotation in mid-sign",
  "out of time",
  "stale",
  "claim taken",
  "commands in one append",
  "decided without a load",
  "decided without a load, and refused",
  "shared statement",
  "request lost",
  "answer lost",
  "carried out after its connection broke",
  "crash before append",
  "crash after append",
  "process killed",
  "process paused",
  "machine suspended",
  "clock stepped",
  "failover that loses nothing",
  "failover that loses the tail",
  "acknowledged write lost with the tail",
  "history replaced under a change",
  "request delivered twice",
  "idempotent replay",
  "commitment used again",
  "assertion used again",
  "passkey retired during an approval",
  "webhook delivered twice",
  "webhook exhausted",
  "endpoint disabled",
  "worker lost"
] as const

export type RarePath = (typeof PATHS)[number]

/** Those of which a run of a million steps must reach each at least a hundred times. */
export const REQUIRED_PATHS: ReadonlyArray<RarePath> = PATHS.slice(0, 7)

/** How often each rare path was reached. */
export class RarePaths {
  readonly counts: Record<RarePath, number>

  constructor() {
    this.counts = Object.fromEntries(PATHS.map((path) => [path, 0])) as Record<RarePath, number>
  }

  count(path: RarePath, times = 1): void {
    this.counts[path] += times
  }

  add(other: RarePaths["counts"]): void {
    for (const path of PATHS) this.counts[path] += other[path]
  }
}
