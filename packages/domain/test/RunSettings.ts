/*
 * FC_RUNS says how many runs a property makes, FC_SEED which ones (default: others each time), and FC_PATH one of them
 * alone. A failure names its seed and path; the title of each test names the seed of its run.
 */
const numberOf = (name: string): number | undefined => {
  const value = process.env[name]
  return value === undefined || value === "" ? undefined : Number(value)
}

export interface RunSettings {
  readonly runs: number
  readonly seed: number
  readonly path?: string
  /** For the title of the test. */
  readonly replay: string
}

export const runSettings = (usualRuns: number): RunSettings => {
  const runs = numberOf("FC_RUNS") ?? usualRuns
  const seed = numberOf("FC_SEED") ?? Math.floor(Math.random() * 0x7fffffff)
  const path = process.env.FC_PATH
  return {
    runs,
    seed,
    ...(path === undefined || path === "" ? {} : { path }),
    replay: `FC_SEED=${seed} FC_RUNS=${runs}`
  }
}

/** Long enough for runs that were asked for, in milliseconds. */
export const LONG = 86_400_000
