// Conditions in package.json choose between Node's implementation and one that runs anywhere.
import * as implementation from "#sha256"

/**
 * SHA-256 (FIPS 180-4) of bytes, or of the UTF-8 of a text, 32 bytes. A lone surrogate of a text counts as U+FFFD.
 *
 * @example
 * sha256("abc") // the bytes ba 78 16 bf ... 15 ad
 */
export const sha256: (content: string | Uint8Array) => Uint8Array<ArrayBuffer> = implementation.sha256

/**
 * {@link sha256} as base64url, 43 characters.
 *
 * @example
 * sha256Base64Url("abc") // "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"
 */
export const sha256Base64Url: (content: string | Uint8Array) => string = implementation.sha256Base64Url
