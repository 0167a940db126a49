import { decodeBase64Url } from "../Base64Url.ts"
import { equalInConstantTime } from "../crypto/ConstantTime.ts"
import { type DomainLine, domainHash, domainHashBase64Url } from "../crypto/DomainHash.ts"

/** Bytes of the random opening that a caller keeps until commit (part 5). */
export const OPENING_BYTES = 32

const COMMITMENT: DomainLine = "svc:authorization:commitment:v1"

/**
 * The commitment to an opening: base64url(SHA-256("svc:authorization:commitment:v1" || LF || opening)),
 * part 5. Throws a `RangeError` unless the opening has `OPENING_BYTES` bytes.
 */
export const commitmentOf = (opening: Uint8Array): string => {
  if (opening.length !== OPENING_BYTES) {
    throw new RangeError(`a commitment opening has ${OPENING_BYTES} bytes`)
  }
  return domainHashBase64Url(COMMITMENT, opening)
}

/** Whether the opening is the one committed to; compares bytes in constant time and never throws. */
export const openingMatches = (opening: Uint8Array, commitment: string): boolean => {
  const expected = decodeBase64Url(commitment)
  if (expected === undefined || opening.length !== OPENING_BYTES) return false
  return equalInConstantTime(domainHash(COMMITMENT, opening), expected)
}
