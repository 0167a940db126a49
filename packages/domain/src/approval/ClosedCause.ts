import { parseTimestamp } from "@svc/protocol/Timestamp"
import type { MandateState } from "../mandate/MandateState.ts"
import type { ApprovalSessionState } from "./ApprovalSessionState.ts"

/**
 * Why a link is closed: `unknown` was never given; `expired`, `replaced` by a newer session and `withdrawn` with its mandate
 * approved nothing. An answered one is `used`; whether it was `approved` or `declined` is told only to the browser that
 * answered.
 */
export type ClosedCause = "unknown" | "expired" | "replaced" | "withdrawn" | "used" | "approved" | "declined"

/** Why the link of a session is closed, as far as the bearer may know. */
export const closedCause = (
  session: ApprovalSessionState,
  mandate: MandateState,
  isBoundBrowser: boolean
): ClosedCause => {
  switch (session.state) {
    case "COMPLETED":
      return isBoundBrowser ? "approved" : "used"
    case "REJECTED":
      return isBoundBrowser ? "declined" : "used"
    case "SUPERSEDED":
      return "replaced"
    case "OPEN":
      return wasRevokedWhileOpen(session, mandate) ? "withdrawn" : "expired"
  }
}

const wasRevokedWhileOpen = (session: ApprovalSessionState, { endedAt, state }: MandateState): boolean => {
  const ended = endedAt === undefined ? undefined : parseTimestamp(endedAt)
  return state === "REVOKED" && ended !== undefined && ended < session.expiresAt
}
