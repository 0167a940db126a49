import type { Load, LoadResult } from "./Load.ts"

/** Why the answer is not the one that a right one would be. */
export class WrongAnswer extends Error {}

/** Each client does pair after pair until the time is over. */
export const runPairs = async (
  { mandates, seconds }: Pick<Load, "mandates" | "seconds">,
  clients: ReadonlyArray<(mandate: string) => Promise<void>>
): Promise<LoadResult> => {
  const pairsOfClients: Array<number> = []
  const milliseconds: Array<number> = []
  const committed: Record<string, number> = {}
  const faults: Record<string, number> = {}
  const deadline = performance.now() + seconds * 1000
  const run = async (pair: (mandate: string) => Promise<void>, index: number) => {
    pairsOfClients[index] = 0
    for (let begun = performance.now(); begun < deadline; ) {
      const mandate = mandates[Math.floor(Math.random() * mandates.length)]!
      try {
        await pair(mandate)
        committed[mandate] = (committed[mandate] ?? 0) + 1
      } catch (error) {
        if (!(error instanceof WrongAnswer)) throw error
        faults[error.message] = (faults[error.message] ?? 0) + 1
        begun = performance.now()
        continue
      }
      const ended = performance.now()
      if (ended <= deadline) {
        pairsOfClients[index]! += 1
        milliseconds.push(ended - begun)
      }
      begun = ended
    }
  }
  await Promise.all(clients.map(run))
  return { pairsOfClients, milliseconds, committed, faults }
}
