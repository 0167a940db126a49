import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"

/** A file that the reference loads; its name contains a hash of its content. */
export interface ReferenceAsset {
  readonly path: `/${string}`
  readonly contentType: string
  readonly bytes: Buffer
}

/** Hexadecimal characters of the hash in a file name: 64 bits. */
const HASH_CHARACTERS = 16

const read = (file: string): Buffer => readFileSync(new URL(`./assets/${file}`, import.meta.url))

const asset = (name: string, extension: string, contentType: string): ReferenceAsset => {
  const bytes = read(`${name}.${extension}`)
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, HASH_CHARACTERS)
  return { path: `/docs/${name}.${hash}.${extension}`, contentType, bytes }
}

export const SCRIPT_ASSET = asset("reference", "js", "text/javascript; charset=utf-8")
export const STYLE_ASSET = asset("reference", "css", "text/css; charset=utf-8")
export const ICON_ASSET = asset("reference", "svg", "image/svg+xml")

/** Everything that the page loads. */
export const REFERENCE_ASSETS: ReadonlyArray<ReferenceAsset> = [SCRIPT_ASSET, STYLE_ASSET, ICON_ASSET]

/** Browsers request this path by themselves. */
export const FAVICON: ReferenceAsset = {
  path: "/favicon.ico",
  contentType: "image/x-icon",
  bytes: read("favicon.ico")
}
