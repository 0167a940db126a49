import { parseTimestamp } from "@svc/protocol/Timestamp"
import { Effect, type Redacted } from "effect"
import type { ApprovalSessionState } from "../approval/ApprovalSessionState.ts"
import type { MandateState } from "../mandate/MandateState.ts"
import type { MandateStore, StoreUnavailable } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import {
  type ApprovalSubject,
  aboutOf,
  isOfBoundBrowser,
  loadByToken,
  retried,
  returnAddress
} from "./ApprovalCeremony.ts"

/**
 * Why a link is closed: `unknown` was never given; `expired`, `replaced` by a newer session and `withdrawn` with its mandate
 * approved nothing. An answered one is `used`; whether it was `approved` or `declined` is an outcome, and is told to the
 * browser that answered alone.
 */
export type ClosedCause = "unknown" | "expired" | "replaced" | "withdrawn" | "used" | "approved" | "declined"

/** What the page of a closed link says (part 6, GET /approve/{token}). */
export interface ClosedLink {
  readonly cause: ClosedCause
  /** Back to the caller: for the browser that began the ceremony, and for whoever has the link if none ever did. */
  readonly returnAddress?: string
  /** Whether a browser began the ceremony, and this request does not prove to come from it. */
  readonly isBoundElsewhere: boolean
  /** Absent for an unknown link. */
  readonly about?: ApprovalSubject
}

/** A token that was never given. */
export const UNKNOWN_LINK: ClosedLink = { cause: "unknown", isBoundElsewhere: false }

const causeOf = (session: ApprovalSessionState, mandate: MandateState, isBound: boolean): ClosedCause => {
  switch (session.state) {
    case "COMPLETED":
      return isBound ? "approved" : "used"
    case "REJECTED":
      return isBound ? "declined" : "used"
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

/** Says of a link that is closed why it is, as far as the bearer may know. */
export const readClosedLink = Effect.fn("readClosedLink")(function* (query: {
  readonly token: Redacted.Redacted<string>
  /** The cookie's name holds the session's identifier, so it is picked once that is known. */
  readonly cookieOf: (sessionId: string) => Redacted.Redacted<string> | undefined
}): Effect.fn.Return<ClosedLink, StoreUnavailable, MandateStore | Randomness> {
  const found = yield* retried(query.token, loadByToken(query.token))
  if (found === undefined) return UNKNOWN_LINK
  const { current, session } = found
  const isBound = isOfBoundBrowser(session, query.cookieOf(session.id))
  const leadsBack = isBound || session.boundTo === undefined
  return {
    cause: causeOf(session, current.state.mandate, isBound),
    ...(leadsBack ? { returnAddress: returnAddress(session) } : {}),
    isBoundElsewhere: !leadsBack,
    about: aboutOf(session)
  }
})
