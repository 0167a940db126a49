/** Something that reads bytes which others wrote, and what must hold of it whatever they are. */
export interface FuzzTarget {
  /** Inputs that are right, or nearly so: mutations begin with them. */
  readonly seeds: ReadonlyArray<string | Uint8Array>
  /** Pieces that such inputs are made of. */
  readonly words: ReadonlyArray<string>
  /** Throws where something does not hold that must. */
  readonly run: (input: Uint8Array) => void | Promise<void>
}

/** Says what must hold. */
export const demand = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}

const encoder = new TextEncoder()

export const bytesOf = (text: string | Uint8Array): Uint8Array =>
  typeof text === "string" ? encoder.encode(text) : text

/** The text that a header or a path has: a character for each byte. */
export const latin1Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

/** The text of the bytes as UTF-8, with replacement characters for what is none. */
export const textOf = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)

/** The input in parts, which bytes of 0x00 to 0x1e at an end of a line cannot be: lines that begin with `%%`. */
export const partsOf = (input: Uint8Array): ReadonlyArray<string> => latin1Of(input).split("\n%%\n")
