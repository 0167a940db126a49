import { decode32Bytes, encodeBase64Url } from "./Base64Url.ts"
import { invalidArgument } from "./SvcError.ts"

/** Bytes of an opening. */
const OPENING_BYTES = 32

const DOMAIN_LINE = new TextEncoder().encode("svc:authorization:commitment:v1\n")

/** A commitment and what it was made from, both as they go over the wire: 43 characters. */
export interface CommitmentPair {
  /** Goes into the proposal. */
  readonly commitment: string
  /** Secret until the commit, which reveals it. Without it what was executed cannot be committed: store it first. */
  readonly opening: string
}

/**
 * The commitment to an opening: base64url(SHA-256("svc:authorization:commitment:v1" || LF || opening)), part 5. Rejects with
 * `invalid_argument` unless the opening is 32 bytes as base64url.
 */
export const commitmentOf = async (opening: string): Promise<string> => {
  const bytes = decode32Bytes(opening)
  if (bytes === undefined) throw invalidArgument("an opening is 32 bytes as base64url: 43 characters")
  const hashed = new Uint8Array(DOMAIN_LINE.length + bytes.length)
  hashed.set(DOMAIN_LINE)
  hashed.set(bytes, DOMAIN_LINE.length)
  return encodeBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", hashed)))
}

/** Draws an opening, and makes the commitment to it. */
export const createCommitment = async (): Promise<CommitmentPair> => {
  const opening = encodeBase64Url(crypto.getRandomValues(new Uint8Array(OPENING_BYTES)))
  return { commitment: await commitmentOf(opening), opening }
}
