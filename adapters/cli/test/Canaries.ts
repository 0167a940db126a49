/** Length of the prefix by which forms are indexed, so that long texts are searched quickly, in characters. */
const INDEXED_CHARACTERS = 8

const STARTS = 2 ** 16
const PRIME = 31

/** A number of the first characters of what follows: most places of a text begin nothing, and this tells it quickly. */
const startOf = (text: string, at: number): number =>
  ((text.charCodeAt(at) * PRIME + text.charCodeAt(at + 1)) * PRIME + text.charCodeAt(at + 2)) % STARTS

/** Each secret by what it is, in every form that it could be written in. */
export class Canaries {
  readonly #forms = new Map<string, Map<string, string>>()
  readonly #starts = new Uint8Array(STARTS)

  #add(form: string, what: string): void {
    if (form.length < INDEXED_CHARACTERS) throw new Error(`too short to be told from other text: ${what}`)
    const start = form.slice(0, INDEXED_CHARACTERS)
    this.#starts[startOf(form, 0)] = 1
    const alike = this.#forms.get(start) ?? new Map<string, string>()
    this.#forms.set(start, alike.set(form, what))
  }

  plant(what: string, secret: string): string {
    for (const form of [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString("base64"),
      Buffer.from(secret).toString("base64url"),
      Buffer.from(secret).toString("hex"),
      JSON.stringify(secret).slice(1, -1)
    ]) {
      this.#add(form, what)
    }
    return secret
  }

  plantBytes(what: string, bytes: Uint8Array): void {
    const buffer = Buffer.from(bytes)
    for (const encoding of ["base64", "base64url", "hex"] as const) {
      this.#add(buffer.toString(encoding), what)
    }
    this.#add(String(bytes), what)
  }

  /** Which secrets the text holds. */
  foundIn(text: string): ReadonlyArray<string> {
    const found = new Set<string>()
    for (let at = 0; at + INDEXED_CHARACTERS <= text.length; at++) {
      if (this.#starts[startOf(text, at)] === 0) continue
      for (const [form, what] of this.#forms.get(text.slice(at, at + INDEXED_CHARACTERS)) ?? []) {
        if (text.startsWith(form, at)) found.add(what)
      }
    }
    return [...found]
  }
}
