/** A thread that fuzzes one target, and leaves each input where others can read it before it is tried. */
import { parentPort, workerData } from "node:worker_threads"
import { watchCoverage } from "./Coverage.ts"
import { fuzz } from "./FuzzRun.ts"
import { TARGETS } from "./Targets.ts"

/** Bytes before the input in what is shared: how many inputs there were, and the length of the last. */
export const INPUT_OFFSET = 8

export interface WorkerData {
  readonly target: string
  readonly seed: number
  readonly milliseconds: number
  readonly shared: SharedArrayBuffer
  readonly known: ReadonlyArray<Uint8Array>
}

const run = async ({ known, milliseconds, seed, shared, target: name }: WorkerData): Promise<void> => {
  const state = new Int32Array(shared, 0, 2)
  const current = new Uint8Array(shared, INPUT_OFFSET)
  // What a module does while it is loaded is nobody's input.
  const target = await TARGETS[name]?.()
  if (target === undefined) throw new Error(`there is no target ${name}`)
  const coverage = watchCoverage()
  const begin = (input: Uint8Array): void => {
    current.set(input.subarray(0, current.length))
    Atomics.store(state, 1, Math.min(input.length, current.length))
    Atomics.add(state, 0, 1)
  }
  const report = await fuzz(target, { seed, until: Date.now() + milliseconds, known, coverage, begin })
  parentPort?.postMessage(report)
}

if (parentPort !== null) await run(workerData as WorkerData)
