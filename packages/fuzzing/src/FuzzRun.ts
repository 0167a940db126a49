import type { Coverage } from "./Coverage.ts"
import { bytesOf, type FuzzTarget } from "./FuzzTarget.ts"
import { makeMutator } from "./Mutator.ts"

/** Inputs that run before it is asked whether one of them reached new code, which takes as long as many of them. */
const SMALLEST_BATCH = 16
const LARGEST_BATCH = 8192

/** How much longer a batch shall take than asking for its coverage. */
const BATCH_OVER_ASKING = 8

/** An input that takes longer is a finding, in milliseconds. */
const SLOW_MS = 2000

/** Different findings after which a target is left. */
const MOST_FINDINGS = 5

/** Attempts to make an input smaller. */
const MOST_ATTEMPTS = 400

export interface Finding {
  readonly input: Uint8Array
  readonly fault: string
}

export interface FuzzReport {
  readonly inputs: number
  readonly seconds: number
  readonly findings: ReadonlyArray<Finding>
  /** What was run by inputs of the corpus and by no shorter one, shortest first. */
  readonly corpus: ReadonlyArray<Uint8Array>
  readonly functions: number
  /** Longest that one input took, in milliseconds. */
  readonly slowest: number
}

const faultOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

/** Findings are alike whose first line is, and the place in the code. */
const kindOf = (fault: string): string =>
  fault
    .split("\n")
    .slice(0, 2)
    .join(" ")
    .replaceAll(/\d+|"[^"]*"/gu, "_")

/** Runs a target on one input; what is wrong with it, if anything is. */
export const tryInput = async (target: FuzzTarget, input: Uint8Array): Promise<string | undefined> => {
  const began = performance.now()
  try {
    // Most targets answer at once, and waiting for nothing costs more than they do.
    const running = target.run(input)
    if (running !== undefined) await running
  } catch (error) {
    return faultOf(error)
  }
  const took = performance.now() - began
  return took > SLOW_MS ? `it took ${Math.round(took)} ms` : undefined
}

/** The shortest input found that has a fault of the same kind, made by leaving out parts. */
const smallest = async (target: FuzzTarget, found: Finding): Promise<Finding> => {
  let best = found
  let attempts = 0
  for (let size = Math.ceil(found.input.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < best.input.length && attempts < MOST_ATTEMPTS; ) {
      attempts += 1
      const input = Uint8Array.from(
        Buffer.concat([best.input.subarray(0, from), best.input.subarray(from + size)])
      )
      const fault = await tryInput(target, input)
      if (fault !== undefined && kindOf(fault) === kindOf(found.fault)) best = { input, fault }
      else from += size
    }
  }
  return best
}

/** The inputs that are needed to run what all of them run, shortest first. */
const neededOf = async (
  target: FuzzTarget,
  inputs: ReadonlyArray<Uint8Array>,
  coverage: Coverage
): Promise<ReadonlyArray<Uint8Array>> => {
  coverage.forget()
  const needed: Array<Uint8Array> = []
  for (const input of [...inputs].sort((left, right) => left.length - right.length)) {
    await tryInput(target, input)
    if (coverage.news({ remember: true })) needed.push(input)
  }
  return needed
}

/**
 * Tries inputs until the time is over: those that are known, then ones that are made of those which reached code that nothing
 * had before. `begin` is told each input before it runs, in case that it never ends.
 */
export const fuzz = async (
  target: FuzzTarget,
  options: {
    readonly seed: number
    readonly until: number
    readonly known: ReadonlyArray<Uint8Array>
    readonly coverage: Coverage
    readonly begin: (input: Uint8Array) => void
    /** Different findings after which the target is left. */
    readonly mostFindings?: number
  }
): Promise<FuzzReport> => {
  const { begin, coverage, known, mostFindings = MOST_FINDINGS, seed, until } = options
  const mutator = makeMutator(seed, target.words)
  const kept: Array<Uint8Array> = []
  const findings = new Map<string, Finding>()
  const began = performance.now()
  let inputs = 0
  let slowest = 0
  let batch = SMALLEST_BATCH

  /** Rejections that nobody handled, which are told after the input that caused them. */
  const unhandled: Array<string> = []
  const noteRejection = (reason: unknown): void => {
    unhandled.push(`nobody handled a rejection: ${faultOf(reason)}`)
  }
  process.on("unhandledRejection", noteRejection)

  const run = async (input: Uint8Array): Promise<void> => {
    begin(input)
    inputs += 1
    const start = performance.now()
    const fault = (await tryInput(target, input)) ?? unhandled.shift()
    slowest = Math.max(slowest, performance.now() - start)
    if (fault === undefined || findings.has(kindOf(fault))) return
    findings.set(kindOf(fault), await smallest(target, { input, fault }))
  }

  const hasNews = async (some: ReadonlyArray<Uint8Array>, remember: boolean): Promise<boolean> => {
    for (const input of some) await run(input)
    return coverage.news({ remember })
  }

  /** Keeps the inputs that reach new code. They are found by halves, since asking for coverage takes long. */
  const keepNew = async (some: ReadonlyArray<Uint8Array>): Promise<void> => {
    if (some.length === 1) {
      if (await hasNews(some, true)) kept.push(...some)
      return
    }
    const middle = Math.ceil(some.length / 2)
    for (const half of [some.slice(0, middle), some.slice(middle)]) {
      if (await hasNews(half, false)) await keepNew(half)
    }
  }

  coverage.forget()
  for (const input of [...target.seeds.map(bytesOf), ...known]) {
    // What a regular expression tells apart is not seen in coverage, so these are kept whatever they reach.
    await hasNews([input], true)
    kept.push(input)
  }
  while (Date.now() < until && findings.size < mostFindings) {
    const start = performance.now()
    const some = Array.from({ length: batch }, () => mutator.next(kept))
    for (const input of some) await run(input)
    const middle = performance.now()
    const isNew = coverage.news({ remember: false })
    const end = performance.now()
    if (isNew) {
      const before = kept.length
      await keepNew(some)
      // What a run reaches by chance, or by what ran before it, must not be looked for again and again.
      if (kept.length === before) await hasNews(some, true)
    }
    const isShort = middle - start < (end - middle) * BATCH_OVER_ASKING
    batch = Math.min(LARGEST_BATCH, Math.max(SMALLEST_BATCH, isShort ? batch * 2 : Math.floor(batch / 2)))
  }
  process.off("unhandledRejection", noteRejection)
  return {
    inputs,
    seconds: (performance.now() - began) / 1000,
    findings: [...findings.values()],
    corpus: await neededOf(target, kept, coverage),
    functions: coverage.size().functions,
    slowest
  }
}
