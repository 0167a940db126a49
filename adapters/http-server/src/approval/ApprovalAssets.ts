import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"

/** A file that the page loads; its name contains a hash of its content. */
export interface ApprovalAsset {
  readonly path: `/${string}`
  readonly contentType: string
  readonly text: string
}

/** Hexadecimal characters of the hash in a file name: 64 bits. */
const HASH_CHARACTERS = 16

const asset = (name: string, extension: string, contentType: string): ApprovalAsset => {
  const text = readFileSync(new URL(`./assets/${name}.${extension}`, import.meta.url), "utf8")
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH_CHARACTERS)
  return { path: `/assets/${name}.${hash}.${extension}`, contentType, text }
}

/** Built by `npm run build:page`. */
export const SCRIPT_ASSET = asset("approve", "js", "text/javascript; charset=utf-8")
export const STYLE_ASSET = asset("approve", "css", "text/css; charset=utf-8")
export const ICON_ASSET = asset("approve", "svg", "image/svg+xml")

/** Everything that the page loads. */
export const APPROVAL_ASSETS: ReadonlyArray<ApprovalAsset> = [SCRIPT_ASSET, STYLE_ASSET, ICON_ASSET]

/** The name changes with the content, so a copy may be cached for a year, the conventional maximum. */
export const ASSET_CACHE_CONTROL = "public, max-age=31536000, immutable"
