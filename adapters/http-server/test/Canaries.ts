/** Forms are looked up by so many of their first characters: there are many of them, and a lot of text. */
const INDEXED_CHARACTERS = 8

/** Each secret by what it is, in every form that it could be written in. */
export class Canaries {
  readonly #forms = new Map<string, Map<string, string>>()

  #add(form: string, what: string): void {
    if (form.length < INDEXED_CHARACTERS) throw new Error(`too short to be told from other text: ${what}`)
    const start = form.slice(0, INDEXED_CHARACTERS)
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
      for (const [form, what] of this.#forms.get(text.slice(at, at + INDEXED_CHARACTERS)) ?? []) {
        if (text.startsWith(form, at)) found.add(what)
      }
    }
    return [...found]
  }
}
