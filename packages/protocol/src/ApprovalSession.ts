import { Schema } from "effect"
import { CALLER_DUTIES } from "./CallerDuties.ts"
import { described } from "./Described.ts"
import { ApprovalSessionId, MandateId } from "./Identifier.ts"
import { textBetween } from "./Text.ts"
import { serviceTimestamp } from "./TimestampSchema.ts"

/** Longest `return_url`, in code points. */
export const RETURN_URL_MAX_CODE_POINTS = 2048
/** Bounds of `return_state`, in code points. */
export const RETURN_STATE_MIN_CODE_POINTS = 16
export const RETURN_STATE_MAX_CODE_POINTS = 512
/** Longest identity assertion, in characters; real ones are far shorter. */
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
  identity_assertion: described(
    textBetween(1, IDENTITY_ASSERTION_MAX_CHARACTERS),
    "A compact JWS under a key of the organization, with iss, aud, sub (the mandate's subject_reference), jti (1 to 255 characters, used once), iat and exp (at most 300 s later); svc_enrol: true lets a subject without an active passkey create one.",
    "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ1c2VyXzhmMiJ9.c2lnbmF0dXJl"
  ),
  return_url: described(
    textBetween(1, RETURN_URL_MAX_CODE_POINTS),
    "Where the browser goes afterwards: an absolute HTTPS URL whose scheme, host and port are those of a registered return origin. return_state and approval_session_id are added to its query; the outcome is not: read the mandate.",
    "https://shop.example/return"
  ),
  return_state: described(
    textBetween(RETURN_STATE_MIN_CODE_POINTS, RETURN_STATE_MAX_CODE_POINTS),
    `Opaque to the service, which gives it back at return_url: your protection against forged returns (CSRF). ${CALLER_DUTIES.unpredictableState}`,
    "Yk3vO8mC2sQ1tZ7wRb5n"
  )
})
export type CreateApprovalSessionBody = typeof CreateApprovalSessionBody.Type

/** The approval session resource; `approval_url` is a bearer secret, present only while OPEN. */
export const ApprovalSession = Schema.Struct({
  id: described(
    ApprovalSessionId,
    "Identifier of the session; comes back at return_url as approval_session_id.",
    "aps_01kbcd2e3f4g5h6j7k8m9npqrs" as never
  ),
  mandate_id: described(
    MandateId,
    "The mandate that is to be approved.",
    "mnd_01kbcd2e3f4g5h6j7k8m9npqrs" as never
  ),
  state: described(
    ApprovalSessionStateName,
    "OPEN: the link works. COMPLETED: approved. REJECTED: declined. EXPIRED: neither in time. SUPERSEDED: a later session took its place. None of them is proof: read the mandate.",
    "OPEN"
  ),
  created_at: serviceTimestamp("When it was created."),
  expires_at: serviceTimestamp(
    "When the link ends: 5 minutes after creation, and never after the mandate's approval_deadline."
  ),
  approval_url: Schema.optionalKey(
    described(
      Schema.String,
      `Address of the approval page; a bearer secret, good once, present only while OPEN. ${CALLER_DUTIES.secretApprovalUrl}`,
      "https://approve.example/approve/Zm9yLWV4YW1wbGUtb25seS1ub3QtYS10b2tlbi1hdC1hbGw"
    )
  )
})
export type ApprovalSession = typeof ApprovalSession.Type
