import { FAULT_KINDS, type FaultKind } from "./Faults.ts"
import { RarePaths } from "./RarePaths.ts"
import { seededRandom } from "./time/SeededRandom.ts"
import { World, type WorldReport, type WorldShape } from "./World.ts"

/** Steps of one world before its faults stop. Many small worlds reach more than a large one, and forget less. */
const STEPS_PER_WORLD = 4000

/** A world that was found broken, made as small as it still breaks. */
export interface Failure {
  readonly shape: WorldShape
  readonly report: WorldReport
}

export interface SimulationReport {
  readonly worlds: number
  readonly steps: number
  readonly checks: number
  /** Simulated time, in seconds. */
  readonly seconds: number
  readonly rare: RarePaths["counts"]
  readonly failures: ReadonlyArray<Failure>
}

export interface SimulationOptions {
  readonly seed: number
  /** Ends with the world in which so many steps are reached. */
  readonly steps: number
  /** Which share of the worlds of the seed it runs: each `of`-th from `part` on. Default: all of them. */
  readonly part?: number
  readonly of?: number
  /** Asked before each world whether time is up. */
  readonly isOver?: () => boolean
  /** Steps of one world at most. */
  readonly stepsPerWorld?: number
  /** Whether a broken world is made smaller. Default: yes. */
  readonly shrinks?: boolean
}

/** The n-th world of a seed. */
export const worldShape = (seed: number, number: number, steps = STEPS_PER_WORLD): WorldShape => {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1) + number)
  return {
    seed: random.integer(0, 2 ** 31 - 1),
    organizations: random.integer(1, 3),
    processes: random.integer(2, 4),
    callers: random.integer(5, 14),
    mandates: random.integer(40, 120),
    appends: random.pick(["one by one", "lanes"] as const),
    faults: random.chance(0.1) ? [] : FAULT_KINDS.filter(() => random.chance(0.85)),
    steps
  }
}

/** Runs worlds one after another until there were enough steps or one is found broken. */
export const simulate = (options: SimulationOptions): SimulationReport => {
  const { isOver = () => false, of = 1, part = 0, seed, stepsPerWorld, steps } = options
  const rare = new RarePaths()
  const totals = { worlds: 0, steps: 0, checks: 0, seconds: 0 }
  const failures: Array<Failure> = []
  for (let number = part; totals.steps < steps && failures.length === 0 && !isOver(); number += of) {
    const shape = worldShape(seed, number, Math.min(stepsPerWorld ?? STEPS_PER_WORLD, steps - totals.steps))
    const report = new World(shape).run()
    totals.worlds += 1
    totals.steps += report.steps
    totals.checks += report.checks
    totals.seconds += report.seconds
    rare.add(report.rare)
    if (report.finding !== undefined) {
      failures.push(options.shrinks === false ? { shape, report } : shrunk({ shape, report }))
    }
  }
  return { ...totals, rare: rare.counts, failures }
}

const without = (kinds: ReadonlyArray<FaultKind>, kind: FaultKind): ReadonlyArray<FaultKind> =>
  kinds.filter((other) => other !== kind)

/** Shapes that are a little smaller. */
const smaller = (shape: WorldShape): ReadonlyArray<WorldShape> => [
  ...(shape.organizations > 1 ? [{ ...shape, organizations: 1 }] : []),
  ...(shape.processes > 1 ? [{ ...shape, processes: shape.processes - 1 }] : []),
  ...(shape.callers > 1 ? [{ ...shape, callers: Math.ceil(shape.callers / 2) }] : []),
  ...(shape.mandates > 1 ? [{ ...shape, mandates: Math.ceil(shape.mandates / 2) }] : []),
  ...shape.faults.map((kind) => ({ ...shape, faults: without(shape.faults, kind) }))
]

/** Worlds that are run at most to make one smaller. */
const MAX_SHRINKS = 60

/** Leaves out what is not needed for the same invariant to break, and keeps whatever breaks it in fewer steps. */
export const shrunk = (failure: Failure): Failure => {
  let best = failure
  let left = MAX_SHRINKS
  const next = (): Failure | undefined => {
    for (const shape of smaller(best.shape)) {
      if (left-- <= 0) return undefined
      const report = new World(shape).run()
      const isSame = report.finding?.invariant === failure.report.finding?.invariant
      if (isSame && report.steps <= best.report.steps)
        return { shape: { ...shape, steps: report.steps }, report }
    }
    return undefined
  }
  for (let found = next(); found !== undefined; found = next()) best = found
  return best
}
