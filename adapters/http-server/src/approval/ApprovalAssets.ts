import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"

/** A file of the page, under a name that changes with its content. */
export interface ApprovalAsset {
  readonly path: `/${string}`
  readonly contentType: string
  readonly text: string
}

/** Characters of the hash in a name: 64 bits tell releases apart. */
const HASH_CHARACTERS = 16

const asset = (name: string, extension: string, contentType: string): ApprovalAsset => {
  const text = readFileSync(new URL(`./assets/${name}.${extension}`, import.meta.url), "utf8")
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH_CHARACTERS)
  return { path: `/assets/${name}.${hash}.${extension}`, contentType, text }
}

/** Built ahead by `npm run build:page`. */
export const SCRIPT_ASSET = asset("approve", "js", "text/javascript; charset=utf-8")
export const STYLE_ASSET = asset("approve", "css", "text/css; charset=utf-8")
export const ICON_ASSET = asset("approve", "svg", "image/svg+xml")

/** Everything that the page loads. */
export const APPROVAL_ASSETS: ReadonlyArray<ApprovalAsset> = [SCRIPT_ASSET, STYLE_ASSET, ICON_ASSET]

/** The name is the version, so a copy is good for a year, the longest that caches agree on. */
export const ASSET_CACHE_CONTROL = "public, max-age=31536000, immutable"
