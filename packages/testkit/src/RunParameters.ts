import { createHash } from "node:crypto"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"

/** What runs of a property are given, and what runs one of them again. */
export interface RunOptions {
  /** How many runs. */
  readonly numRuns?: number
  /** Repeats the runs of a failure, with `path` this very one. Default: FC_SEED, FC_PATH. */
  readonly seed?: number
  readonly path?: string
}

/** What says in the environment which run of which property is to be repeated. */
type Environment = Readonly<Record<string, string | undefined>>

/** Hexadecimal digits of a property's name: enough to tell those of one program apart. */
const NAME_DIGITS = 8

/** A path that says whose it is: the name of the property, a colon, and the path. */
const NAMED_PATH = /^([a-z]+-[0-9a-f]{8}):(.*)$/u

/**
 * The name of a property, by which the command that repeats its failure leaves the other properties of the program alone: it
 * follows from what the property is made of, functions by their text. A target counts if it is a function: another one may
 * have another key each time.
 */
export const propertyName = (kind: string, target: unknown, options: ReadonlyArray<unknown>): string => {
  const made = [typeof target === "function" ? target : "", ...options]
  const text = JSON.stringify(made, (_, value) => (typeof value === "function" ? String(value) : value))
  return `${kind}-${createHash("sha256").update(text).digest("hex").slice(0, NAME_DIGITS)}`
}

const given = (text: string | undefined): string | undefined => (text === "" ? undefined : text)

/** What the environment asks of a property: nothing if its path is that of another one. */
const askedOf = (property: string, { FC_PATH, FC_REPLAY_PATH, FC_SEED }: Environment) => {
  const [, owner, path = given(FC_PATH)] = NAMED_PATH.exec(FC_PATH ?? "") ?? []
  if (owner !== undefined && owner !== property) return {}
  const seed = given(FC_SEED)
  return { seed: seed === undefined ? undefined : Number(seed), path, replayPath: given(FC_REPLAY_PATH) }
}

/** The parameters of the runs of a property, as given or as the environment has them. */
export const parametersOf = (
  { numRuns = 20, ...options }: RunOptions & { readonly replayPath?: string },
  property: string,
  environment: Environment = process.env
) => {
  const asked = askedOf(property, environment)
  const seed = options.seed ?? asked.seed
  const path = given(options.path ?? asked.path)
  const replayPath = given(options.replayPath ?? asked.replayPath)
  return {
    runs: { numRuns, ...(seed === undefined ? {} : { seed }), ...(path === undefined ? {} : { path }) },
    replay: replayPath === undefined ? {} : { replayPath }
  }
}

/** How a program was started, and where in it something was called. */
export interface Started {
  readonly environment: Environment
  readonly arguments: ReadonlyArray<string>
  /** Flags of Node itself. */
  readonly flags: ReadonlyArray<string>
  readonly directory: string
  readonly stack: string
}

const thisProgram = (stack: string): Started => ({
  environment: process.env,
  arguments: process.argv,
  flags: process.execArgv,
  directory: process.cwd(),
  stack
})

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/**
 * A line of a stack whose file is one of tests: `at name (file:1:2)`, or without a name. The file is a URL or an absolute path,
 * so that parentheses in it are not taken for those around it.
 */
const TEST_FRAME =
  /^\s*at (?:async )?(?:.*? \()??((?:file:|\/|[A-Za-z]:[\\/]).*\.(?:test|spec)\.[cm]?[jt]sx?)(?:\?.*)?:\d+:\d+\)?$/mu

/** The file of tests that something was called from, as the stack shows it. */
const testFileOf = ({ directory, stack }: Started): string | undefined => {
  const [, place] = TEST_FRAME.exec(stack) ?? []
  if (place === undefined) return undefined
  return relative(directory, place.startsWith("file:") ? fileURLToPath(place) : place)
}

/** The command that runs again what runs now, as far as it can be told from how the program was started. */
export const commandLine = (started: Started): string => {
  const { environment, flags } = started
  const [, script = "", ...given] = started.arguments
  if (environment.NODE_TEST_CONTEXT !== undefined) return ["node --test", quoted(script)].join(" ")
  if (environment.VITEST === undefined) return ["node", ...[...flags, script, ...given].map(quoted)].join(" ")
  const file = testFileOf(started)
  return file === undefined ? "npx vitest run" : `npx vitest run ${quoted(file)}`
}

/** How a failure of a property is run again: its seed and paths in words, and a command that leaves other properties alone. */
export const runAgain = (
  property: string,
  failed: { readonly seed: number; readonly path: string | null; readonly replayPath?: string },
  stack: string,
  started: Started = thisProgram(stack)
): ReadonlyArray<string> => {
  const { path, replayPath, seed } = failed
  const steps = replayPath === undefined ? "" : `, replayPath ${replayPath}`
  const environment = [
    `FC_SEED=${seed}`,
    `FC_PATH=${property}:${path}`,
    ...(replayPath === undefined ? [] : [`FC_REPLAY_PATH=${replayPath}`])
  ]
  return [
    `seed ${seed}, path ${path}${steps}; to run it again:`,
    [...environment, commandLine(started)].join(" ")
  ]
}
