/* SHA-256 in JavaScript, for every runtime. It is reached as `#sha256` alone, by the imports in package.json. */
import { sha256 as hash } from "@noble/hashes/sha2.js"
import { encodeBase64Url } from "../../Base64Url.ts"

const encoder = new TextEncoder()

export const sha256 = (content: string | Uint8Array): Uint8Array<ArrayBuffer> =>
  hash(typeof content === "string" ? encoder.encode(content) : content)

export const sha256Base64Url = (content: string | Uint8Array): string => encodeBase64Url(sha256(content))
