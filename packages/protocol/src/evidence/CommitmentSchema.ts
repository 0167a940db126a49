import * as Schema from "effect/Schema"
import { BASE64URL_OF_32_BYTES } from "../Base64Url.ts"

const thirtyTwoBytes = Schema.String.check(
  Schema.isPattern(BASE64URL_OF_32_BYTES, {
    message: "must be 32 bytes as base64url without padding: 43 characters"
  })
)

/** A commitment on the wire: 43 characters of canonical base64url. */
export const Commitment = thirtyTwoBytes.pipe(Schema.brand("Commitment"))
export type Commitment = typeof Commitment.Type

/** A revealed opening on the wire: 43 characters of canonical base64url. Secret until commit. */
export const CommitmentOpening = thirtyTwoBytes.pipe(Schema.brand("CommitmentOpening"))
export type CommitmentOpening = typeof CommitmentOpening.Type
