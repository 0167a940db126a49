/** Amount of each pair, in minor units. */
export const AMOUNT = 100

/** Pairs of authorize and commit that are to be asked of a server on loopback. */
export interface Load {
  readonly port: number
  readonly apiKey: string
  /** Of which each pair takes one by chance. */
  readonly mandates: ReadonlyArray<string>
  readonly connections: number
  readonly seconds: number
}

/** What came of a load, within its time unless it says otherwise. */
export interface LoadResult {
  /** Pairs that each client finished. */
  readonly pairsOfClients: ReadonlyArray<number>
  /** How long each pair took, in milliseconds. */
  readonly milliseconds: ReadonlyArray<number>
  /** Pairs by mandate, with those that ended after the time was over. */
  readonly committed: Readonly<Record<string, number>>
  /** Wrong answers and refusals, and how many of each; with those after the time was over. */
  readonly faults: Readonly<Record<string, number>>
}
