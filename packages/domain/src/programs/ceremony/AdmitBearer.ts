import { Effect, type Redacted } from "effect"
import { readSecret } from "../../approval/BearerSecret.ts"
import type { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import type { Randomness } from "../../ports/Randomness.ts"
import type { ApprovalSessionBound, ApprovalSessionClosed } from "../../Refusals.ts"
import {
  type Bearer,
  bearerOf,
  checkBrowser,
  type LoggedContext,
  loadOpenSession,
  loggedContext,
  untilSessionRecorded
} from "./CeremonySession.ts"

/** Checks token and cookie, the steps of the order of checks that come before the body (part 6). */
export const admitBearer = Effect.fn("admitBearer")(function* (query: {
  readonly token: Redacted.Redacted<string>
  /** The cookie's name holds the session's identifier, so it is picked once that is known. */
  readonly cookieOf: (sessionId: string) => Redacted.Redacted<string> | undefined
  /** Whether this is the ceremony request, which an unbound browser may make. */
  readonly ceremony: boolean
}): Effect.fn.Return<
  { readonly bearer: Bearer; readonly about: LoggedContext },
  ApprovalSessionClosed | ApprovalSessionBound | StoreUnavailable,
  MandateStore | Randomness
> {
  const { token } = yield* bearerOf(query)
  const { session } = yield* untilSessionRecorded(token, loadOpenSession(token))
  const cookie = readSecret(query.cookieOf(session.id))
  yield* checkBrowser(session, cookie, query.ceremony ? "may_bind" : "must_be_bound")
  return { bearer: { token, cookie }, about: loggedContext(session) }
})
