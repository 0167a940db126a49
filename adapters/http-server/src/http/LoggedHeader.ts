/** Longest logged user agent, in characters; those of browsers are about half as long. */
const MAX_USER_AGENT_CHARACTERS = 256
/** Longest logged request id of a caller, in characters. */
const MAX_CLIENT_REQUEST_ID_CHARACTERS = 128

/** Base64url of at least 32 bytes, the length of our keys, tokens and openings. */
const SECRET_LIKE = /[\w-]{43,}/gu

const withoutSecrets = (text: string): string => text.replaceAll(SECRET_LIKE, "[redacted]")

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The user agent for the log: truncated, printable ASCII alone, and without possible secrets. */
export const loggedUserAgent = (header: string | undefined): string | undefined =>
  header === undefined
    ? undefined
    : withoutSecrets(header)
        .slice(0, MAX_USER_AGENT_CHARACTERS)
        .replaceAll(/[^\x20-\x7e]/gu, escaped)

const CLIENT_REQUEST_ID = /^[\x21-\x7e]+$/u

/** The caller's request id for the log, without possible secrets; absent if it is too long or not visible ASCII. */
export const loggedRequestId = (header: string | undefined): string | undefined =>
  header === undefined || header.length > MAX_CLIENT_REQUEST_ID_CHARACTERS || !CLIENT_REQUEST_ID.test(header)
    ? undefined
    : withoutSecrets(header)
