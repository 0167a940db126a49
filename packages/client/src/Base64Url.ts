/** Unpadded base64url of a few bytes (RFC 4648 section 5). */
export const encodeBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")

/** The 32 bytes of 43 characters of canonical base64url; `undefined` for any other text. */
export const decode32Bytes = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  if (!/^[\w-]{42}[AEIMQUYcgkosw048]$/.test(text)) return undefined
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}
