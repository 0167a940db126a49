/** What runs of a property are given, and what runs one of them again. */
export interface RunOptions {
  /** How many runs. */
  readonly numRuns?: number
  /** Repeats the runs of a failure, with `path` this very one. Default: FC_SEED, FC_PATH. */
  readonly seed?: number
  readonly path?: string
}

const numberOf = (text: string | undefined): number | undefined =>
  text === undefined || text === "" ? undefined : Number(text)

/** The parameters of the runs, as given or as the environment has them. */
export const parametersOf = ({ numRuns = 20, path = process.env.FC_PATH, seed }: RunOptions) => {
  const given = seed ?? numberOf(process.env.FC_SEED)
  return {
    numRuns,
    ...(given === undefined ? {} : { seed: given }),
    ...(path === undefined || path === "" ? {} : { path })
  }
}

/** How the program that runs now was started, as far as it can be told. */
export const commandLine = (): string =>
  process.env.VITEST === undefined || process.env.NODE_TEST_CONTEXT !== undefined
    ? [process.env.NODE_TEST_CONTEXT === undefined ? "node" : "node --test", process.argv[1]].join(" ")
    : "npx vitest run"
