import type { ApprovalSession } from "@svc/protocol/ApprovalSession"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import type { Redacted } from "effect"
import type { MandateState } from "../mandate/MandateState.ts"
import type { ApprovalSessionState } from "./ApprovalSessionState.ts"
import { secretHash } from "./BearerSecret.ts"
import { redirectTo } from "./ReturnUrl.ts"

/** How long an approval session is open, in seconds (part 6). */
export const APPROVAL_SESSION_SECONDS = 300n

/** When a session that opens at `now` expires: never after the mandate's approval deadline. */
export const sessionExpiry = (now: Instant, approvalDeadline: Instant): Instant => {
  const usual = now + APPROVAL_SESSION_SECONDS * NANOS_PER_SECOND
  return usual < approvalDeadline ? usual : approvalDeadline
}

/** The state that is shown: an open session is expired once its time is up or its mandate no longer awaits approval. */
export const sessionStateAt = (
  session: ApprovalSessionState,
  mandate: MandateState,
  now: Instant
): ApprovalSession["state"] =>
  session.state === "OPEN" && (now >= session.expiresAt || mandate.state !== "PENDING_APPROVAL")
    ? "EXPIRED"
    : session.state

/** The sessions that a new one supersedes: the mandate's last, if it is still open. */
export const supersededBy = (
  last: ApprovalSessionState | undefined,
  now: Instant
): ReadonlyArray<ApprovalSessionState> =>
  last?.state === "OPEN" && now < last.expiresAt ? [{ ...last, state: "SUPERSEDED" }] : []

/** The session after an attempt, which spends the open challenge whether or not it succeeds. */
export const withoutChallenge = ({ challenge: _, ...session }: ApprovalSessionState): ApprovalSessionState =>
  session

/** The session after the user's decision, which also drops a provisional passkey. */
export const decidedSession = (
  session: ApprovalSessionState,
  state: "COMPLETED" | "REJECTED"
): ApprovalSessionState => {
  const { provisionalPasskey: _, ...closed } = withoutChallenge(session)
  return { ...closed, state }
}

/** Whether this is the cookie of the browser that began the ceremony. */
export const isBoundBrowser = (
  session: ApprovalSessionState,
  cookie: Redacted.Redacted<string> | undefined
): boolean => cookie !== undefined && secretHash(cookie) === session.boundTo

/** Where the browser goes, whether or not the user decided: the address does not tell (part 6). */
export const returnAddress = (session: ApprovalSessionState): string =>
  redirectTo(session.returnUrl, {
    return_state: session.returnState,
    approval_session_id: session.id
  })
