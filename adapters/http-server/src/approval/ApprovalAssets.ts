import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"

/** A file that the page loads; its name contains a hash of its content. */
export interface ApprovalAsset {
  readonly path: `/${string}`
  readonly contentType: string
  readonly text: string
}

// Each read names its file in full: the build of the package puts the content in its place.
const SCRIPT = readFileSync(new URL("./assets/approve.js", import.meta.url), "utf8")
const STYLE = readFileSync(new URL("./assets/approve.css", import.meta.url), "utf8")
const ICON = readFileSync(new URL("./assets/approve.svg", import.meta.url), "utf8")

/** Hexadecimal characters of the hash in a file name: 64 bits. */
const HASH_CHARACTERS = 16

const asset = (extension: string, contentType: string, text: string): ApprovalAsset => {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH_CHARACTERS)
  return { path: `/assets/approve.${hash}.${extension}`, contentType, text }
}

/** Built by `npm run build:page`. */
export const SCRIPT_ASSET = asset("js", "text/javascript; charset=utf-8", SCRIPT)
export const STYLE_ASSET = asset("css", "text/css; charset=utf-8", STYLE)
export const ICON_ASSET = asset("svg", "image/svg+xml", ICON)

/** Everything that the page loads. */
export const APPROVAL_ASSETS: ReadonlyArray<ApprovalAsset> = [SCRIPT_ASSET, STYLE_ASSET, ICON_ASSET]

/** The name changes with the content, so a copy may be cached for a year, the conventional maximum. */
export const ASSET_CACHE_CONTROL = "public, max-age=31536000, immutable"
