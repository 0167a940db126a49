import { Schema } from "effect"
import { ApprovalSessionId, MandateId } from "./Identifier.ts"
import { textBetween } from "./Text.ts"

/** Longest `return_url`, in code points. */
export const RETURN_URL_MAX_CODE_POINTS = 2048
/** Bounds of `return_state`, in code points. */
export const RETURN_STATE_MIN_CODE_POINTS = 16
export const RETURN_STATE_MAX_CODE_POINTS = 512
/** Longest identity assertion, in characters: no sound one comes near. */
export const IDENTITY_ASSERTION_MAX_CHARACTERS = 16_384

/** States of an approval session (part 6). */
export const ApprovalSessionStateName = Schema.Literals([
  "OPEN",
  "COMPLETED",
  "REJECTED",
  "EXPIRED",
  "SUPERSEDED"
])
export type ApprovalSessionStateName = typeof ApprovalSessionStateName.Type

/** Body of POST /v1/mandates/{mandate_id}/approval-sessions. */
export const CreateApprovalSessionBody = Schema.Struct({
  identity_assertion: textBetween(1, IDENTITY_ASSERTION_MAX_CHARACTERS).annotate({
    description:
      "A compact JWS under a key of the organization, with iss, aud, sub (the subject_reference), jti (used once), iat and exp (at most 300 s later); svc_enrol: true lets a subject without an active passkey create one"
  }),
  return_url: textBetween(1, RETURN_URL_MAX_CODE_POINTS),
  return_state: textBetween(RETURN_STATE_MIN_CODE_POINTS, RETURN_STATE_MAX_CODE_POINTS)
})
export type CreateApprovalSessionBody = typeof CreateApprovalSessionBody.Type

/** The approval session resource; `approval_url` is a bearer secret, present only while OPEN. */
export const ApprovalSession = Schema.Struct({
  id: ApprovalSessionId,
  mandate_id: MandateId,
  state: ApprovalSessionStateName,
  created_at: Schema.String,
  expires_at: Schema.String,
  approval_url: Schema.optionalKey(Schema.String)
})
export type ApprovalSession = typeof ApprovalSession.Type
