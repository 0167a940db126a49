import type { Micros } from "./Micros.ts"

/** FNV-1a, 32 bits. */
const OFFSET_BASIS = 0x811c9dc5
const PRIME = 0x01000193

/** What happened in a simulation, as one number: two runs that did the same have the same. */
export class Trace {
  #hash = OFFSET_BASIS

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0")
  }

  add(what: string, at: Micros): void {
    this.#mix(what)
    this.#mixNumber(at % 2 ** 32)
    this.#mixNumber(Math.floor(at / 2 ** 32))
  }

  #mix(text: string): void {
    let hash = this.#hash
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME)
    this.#hash = hash
  }

  #mixNumber(value: number): void {
    this.#hash = Math.imul(this.#hash ^ value, PRIME)
    this.#hash = Math.imul(this.#hash ^ (value >>> 16), PRIME)
  }
}
