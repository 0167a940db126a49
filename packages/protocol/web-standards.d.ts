/*
 * The globals that the pure packages may use beside ECMAScript: those of the WHATWG URL and Encoding standards, which are
 * functions of their arguments alone and the same in every runtime. Members are declared as they come into use.
 */

declare class URL {
  constructor(url: string)
  static parse(url: string): URL | null
  readonly hostname: string
  readonly href: string
  readonly origin: string
  readonly port: string
  readonly protocol: string
  search: string
}

declare class URLSearchParams {
  constructor(init: string | Readonly<Record<string, string>>)
  keys(): IterableIterator<string>
}

declare class TextEncoder {
  encode(input: string): Uint8Array<ArrayBuffer>
  /** Writes as many whole characters as there is room for. `read` counts UTF-16 code units, `written` bytes. */
  encodeInto(text: string, bytes: Uint8Array): { readonly read: number; readonly written: number }
}

declare class TextDecoder {
  constructor(label?: string, options?: { readonly fatal?: boolean; readonly ignoreBOM?: boolean })
  decode(input?: Uint8Array): string
}
