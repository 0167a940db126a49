import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"

/** A file that the reference loads; its name contains a hash of its content. */
export interface ReferenceAsset {
  readonly path: `/${string}`
  readonly contentType: string
  readonly bytes: Buffer
}

// Each read names its file in full: the build of the package puts the content in its place.
const SCRIPT = readFileSync(new URL("./assets/reference.js", import.meta.url))
const STYLE = readFileSync(new URL("./assets/reference.css", import.meta.url))
const ICON = readFileSync(new URL("./assets/reference.svg", import.meta.url))
const FAVICON_BYTES = readFileSync(new URL("./assets/favicon.ico", import.meta.url))

/** Hexadecimal characters of the hash in a file name: 64 bits. */
const HASH_CHARACTERS = 16

const asset = (extension: string, contentType: string, bytes: Buffer): ReferenceAsset => {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, HASH_CHARACTERS)
  return { path: `/docs/reference.${hash}.${extension}`, contentType, bytes }
}

export const SCRIPT_ASSET = asset("js", "text/javascript; charset=utf-8", SCRIPT)
export const STYLE_ASSET = asset("css", "text/css; charset=utf-8", STYLE)
export const ICON_ASSET = asset("svg", "image/svg+xml", ICON)

/** Everything that the page loads. */
export const REFERENCE_ASSETS: ReadonlyArray<ReferenceAsset> = [SCRIPT_ASSET, STYLE_ASSET, ICON_ASSET]

/** Browsers request this path by themselves. */
export const FAVICON: ReferenceAsset = {
  path: "/favicon.ico",
  contentType: "image/x-icon",
  bytes: FAVICON_BYTES
}
