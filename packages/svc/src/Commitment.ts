import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf } from "@svc/protocol/evidence/Commitment"

/** Random bytes of an opening. */
const OPENING_BYTES = 32

/**
 * A new commitment for one proposal, and its opening, which the commit reveals. Keep the opening before you propose: without
 * it the outcome cannot be reported.
 *
 * @example
 * ```ts
 * import { createCommitment } from "svc"
 *
 * const { commitment, opening } = createCommitment()
 * ```
 */
export const createCommitment = (): { readonly commitment: string; readonly opening: string } => {
  const opening = crypto.getRandomValues(new Uint8Array(OPENING_BYTES))
  return { commitment: commitmentOf(opening), opening: encodeBase64Url(opening) }
}
