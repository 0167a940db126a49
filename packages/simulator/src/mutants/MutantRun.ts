import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/** How a mutant was found. */
export interface MutantReport {
  readonly mutant: string
  /** The invariant that it broke; absent if none did. */
  readonly invariant?: string
  readonly about?: string
  readonly steps: number
  readonly milliseconds: number
}

/** Steps within which a mutant must be found. */
export const MUTANT_STEPS = 20_000

/** Simulates a mutant in a process of its own. */
export const runMutant = (mutant: string, seed: number): Promise<MutantReport> =>
  new Promise((resolve, reject) => {
    const child = fork(
      fileURLToPath(new URL("./mutantProcess.ts", import.meta.url)),
      [mutant, String(seed)],
      {
        stdio: ["ignore", "inherit", "inherit", "ipc"]
      }
    )
    child.once("message", (report) => resolve(report as MutantReport))
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`the process of "${mutant}" ended with ${code}`)))
  })
