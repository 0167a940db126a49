import { parseArgs } from "node:util"
import type { WorldShape } from "./World.ts"

export interface SimulationSettings {
  readonly seed: number
  readonly steps: number
  readonly minutes: number | undefined
  /** Operating system processes that run worlds. */
  readonly processes: number
  /** One world to be run again. */
  readonly world: WorldShape | undefined
}

const DEFAULT_STEPS = 100_000
const DEFAULT_PROCESSES = 2

const wholeNumber = (name: string, given: string): number => {
  const number = Number(given)
  if (!Number.isSafeInteger(number) || number < 0) throw new RangeError(`--${name} must be a whole number`)
  return number
}

/** Reads `--seed S --steps N [--minutes M] [--processes P]`, or `--world JSON`. Without a seed it takes the given one. */
export const readSettings = (given: ReadonlyArray<string>, otherSeed: number): SimulationSettings => {
  const { values } = parseArgs({
    args: [...given],
    options: {
      seed: { type: "string" },
      steps: { type: "string" },
      minutes: { type: "string" },
      processes: { type: "string" },
      world: { type: "string" }
    }
  })
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
  if (minutes !== undefined && !(minutes > 0)) throw new RangeError("--minutes must be above 0")
  return {
    seed: values.seed === undefined ? otherSeed : wholeNumber("seed", values.seed),
    steps:
      values.steps === undefined
        ? minutes === undefined
          ? DEFAULT_STEPS
          : Number.MAX_SAFE_INTEGER
        : wholeNumber("steps", values.steps),
    minutes,
    processes:
      values.processes === undefined
        ? DEFAULT_PROCESSES
        : Math.max(1, wholeNumber("processes", values.processes)),
    world: values.world === undefined ? undefined : (JSON.parse(values.world) as WorldShape)
  }
}
