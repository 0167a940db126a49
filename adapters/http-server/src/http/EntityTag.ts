import { createHash } from "node:crypto"

/** The strong entity tag of a representation (RFC 9110, section 8.8.3). */
export const entityTag = (text: string | Uint8Array): string =>
  `"${createHash("sha256").update(text).digest("base64url")}"`

/** Whether `If-None-Match` matches the tag, by weak comparison (RFC 9110, section 13.1.2). */
export const matchesTag = (ifNoneMatch: string | undefined, tag: string): boolean =>
  (ifNoneMatch ?? "").split(",").some((listed) => {
    const trimmed = listed.trim()
    return trimmed === "*" || trimmed.replace(/^W\//u, "") === tag
  })
