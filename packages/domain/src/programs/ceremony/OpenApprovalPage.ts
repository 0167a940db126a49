import type { Instant } from "@svc/protocol/Timestamp"
import { Effect, type Redacted } from "effect"
import type { DisplayLine } from "../../approval/ApprovalStatement.ts"
import { returnAddress } from "../../approval/SessionLifecycle.ts"
import { displayLines } from "../../approval/StatementDisplay.ts"
import type { Language } from "../../approval/StatementLanguage.ts"
import { type WayToApprove, wayToApprove } from "../../approval/SubjectPasskeys.ts"
import type { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import type { Organizations } from "../../ports/Organizations.ts"
import type { Randomness } from "../../ports/Randomness.ts"
import type { ApprovalSessionClosed, ValidationFailed } from "../../Refusals.ts"
import {
  bearerOf,
  type LoggedContext,
  languageOf,
  loadOpenSession,
  loggedContext,
  organizationNameOf,
  untilSessionRecorded
} from "./CeremonySession.ts"

/** What the page shows of an open session. Looking never spends the token (part 6, GET /approve/{token}). */
export const openApprovalPage = Effect.fn("openApprovalPage")(function* (query: {
  readonly token: Redacted.Redacted<string>
  readonly language: Language
}): Effect.fn.Return<
  {
    readonly organizationName: string
    readonly locale: Language
    readonly lines: ReadonlyArray<DisplayLine>
    readonly way: WayToApprove
    /** The way back to the caller without a decision; it looks the same as after one. */
    readonly returnAddress: string
    readonly now: Instant
    readonly expiresAt: Instant
    readonly about: LoggedContext
  },
  ApprovalSessionClosed | ValidationFailed | StoreUnavailable,
  MandateStore | Randomness | Organizations
> {
  const { token } = yield* bearerOf(query)
  const language = yield* languageOf(query)
  const { current, session } = yield* untilSessionRecorded(token, loadOpenSession(token))
  const organizationName = yield* organizationNameOf(current.organization)
  return {
    organizationName,
    ...displayLines(current.state.mandate.terms, organizationName, current.now, language),
    way: wayToApprove(session, current.subject),
    returnAddress: returnAddress(session),
    now: current.now,
    expiresAt: session.expiresAt,
    about: loggedContext(session)
  }
})
