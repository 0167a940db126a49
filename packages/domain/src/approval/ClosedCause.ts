import { parseTimestamp } from "@svc/protocol/Timestamp"
import type { MandateState } from "../mandate/MandateState.ts"
import type { ApprovalSessionState } from "./ApprovalSessionState.ts"

/**
 * Why a link is closed. `unknown`: it was never issued. `expired`, `replaced` by a newer session or `withdrawn` with its
 * mandate: nothing was approved with it. `used`: the user has decided; only the browser that did so learns whether the
 * mandate was `approved` or `declined`.
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
