import { Effect, type Redacted } from "effect"
import { readSecret } from "../../approval/BearerSecret.ts"
import { type ClosedCause, closedCause } from "../../approval/ClosedCause.ts"
import { isBoundBrowser, returnAddress } from "../../approval/SessionLifecycle.ts"
import { givenMembers } from "../../engine/GivenMembers.ts"
import type { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import type { Randomness } from "../../ports/Randomness.ts"
import { type LoggedContext, loadSession, loggedContext, untilSessionRecorded } from "./CeremonySession.ts"

/** What the page of a closed link says (part 6, GET /approve/{token}). */
export interface ClosedLink {
  readonly cause: ClosedCause
  /** The way back to the caller: for the browser that began the ceremony, or for every bearer if none did. */
  readonly returnAddress?: string
  /** Whether a browser began the ceremony and this request is not proven to come from it. */
  readonly isBoundElsewhere: boolean
  /** Absent for an unknown link. */
  readonly about?: LoggedContext
}

/** A token that was never issued. */
export const UNKNOWN_LINK: ClosedLink = { cause: "unknown", isBoundElsewhere: false }

/** Why a link is closed, as far as its bearer may know. */
export const readClosedLink = Effect.fn("readClosedLink")(function* (query: {
  readonly token: Redacted.Redacted<string>
  /** The cookie's name holds the session's identifier, so it is picked once that is known. */
  readonly cookieOf: (sessionId: string) => Redacted.Redacted<string> | undefined
}): Effect.fn.Return<ClosedLink, StoreUnavailable, MandateStore | Randomness> {
  const token = readSecret(givenMembers(query, ["token"]).token)
  if (token === undefined) return UNKNOWN_LINK
  const found = yield* untilSessionRecorded(token, loadSession(token))
  if (found === undefined) return UNKNOWN_LINK
  const { current, session } = found
  const isBound = isBoundBrowser(session, readSecret(query.cookieOf(session.id)))
  const leadsBack = isBound || session.boundTo === undefined
  return {
    cause: closedCause(session, current.state.mandate, isBound),
    ...(leadsBack ? { returnAddress: returnAddress(session) } : {}),
    isBoundElsewhere: !leadsBack,
    about: loggedContext(session)
  }
})
