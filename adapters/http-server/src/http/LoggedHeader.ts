/** Longest user agent in the log, in characters; most browsers' are half as long. */
const MAX_USER_AGENT_CHARACTERS = 256
/** Longest request id of a caller that is logged, in characters. */
const MAX_CLIENT_REQUEST_ID_CHARACTERS = 128

/** So long a run of base64url can be a key, a token or an opening: 32 bytes, as all of ours are. */
const SECRET_LIKE = /[\w-]{43,}/gu

const withoutSecrets = (text: string): string => text.replaceAll(SECRET_LIKE, "[redacted]")

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** A user agent as it is logged: cut, other characters than visible ASCII and spaces escaped, and nothing that a secret could be. */
export const loggedUserAgent = (header: string | undefined): string | undefined =>
  header === undefined
    ? undefined
    : withoutSecrets(header)
        .slice(0, MAX_USER_AGENT_CHARACTERS)
        .replaceAll(/[^\x20-\x7e]/gu, escaped)

const CLIENT_REQUEST_ID = /^[\x21-\x7e]+$/u

/** A caller's request id as it is logged; one that is too long or not of visible ASCII is left out. */
export const loggedRequestId = (header: string | undefined): string | undefined =>
  header === undefined || header.length > MAX_CLIENT_REQUEST_ID_CHARACTERS || !CLIENT_REQUEST_ID.test(header)
    ? undefined
    : withoutSecrets(header)
