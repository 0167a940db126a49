import type { Micros } from "./time/Micros.ts"
import type { SimulatedTime } from "./time/SimulatedTime.ts"

interface Entry {
  readonly at: Micros
  readonly step: number
  readonly about: string
  readonly words: string
}

/** What happened, in words: what each request led to, and the faults in between. */
export class History {
  readonly #entries: Array<Entry> = []
  readonly #time: SimulatedTime

  constructor(time: SimulatedTime) {
    this.#time = time
  }

  /** `about` is a resource, or empty for what concerns all. */
  add(about: string, words: string): void {
    this.#entries.push({ at: this.#time.now, step: this.#time.steps, about, words })
  }

  /** The last entries about a resource, with what concerned all of them. */
  about(text: string, most: number): ReadonlyArray<string> {
    return this.#entries
      .filter(({ about }) => about === "" || text.includes(about))
      .slice(-most)
      .map(({ at, step, words }) => `${new Date(at / 1000).toISOString()}  step ${step}  ${words}`)
  }
}
