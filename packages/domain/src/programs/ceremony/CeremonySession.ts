import type { MemberFault } from "@svc/protocol/Problem"
import { Effect, type Redacted, Result } from "effect"
import type { ApprovalSessionState, SubjectCredentials } from "../../approval/ApprovalSessionState.ts"
import { readSecret, secretHash } from "../../approval/BearerSecret.ts"
import {
  decidedSession,
  isBoundBrowser,
  returnAddress,
  sessionStateAt,
  withoutChallenge
} from "../../approval/SessionLifecycle.ts"
import { isLanguage, LANGUAGES, type Language } from "../../approval/StatementLanguage.ts"
import { appendDue, appendFacts } from "../../engine/AppendFacts.ts"
import { asOf, type CurrentStream } from "../../engine/CurrentStream.ts"
import { givenMembers } from "../../engine/GivenMembers.ts"
import { mandateTurnKey, StreamTurns } from "../../engine/StreamTurns.ts"
import { mandateOf, type TurnKey, untilAppended } from "../../engine/UntilAppended.ts"
import { type Command, decide } from "../../mandate/Decide.ts"
import { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import { Organizations } from "../../ports/Organizations.ts"
import {
  ApprovalSessionBound,
  ApprovalSessionClosed,
  PasskeyVerificationFailed,
  ValidationFailed
} from "../../Refusals.ts"

/** Who acts in a ceremony: the bearer of the token, in the browser that holds the cookie. */
export interface Bearer {
  readonly token: Redacted.Redacted<string>
  readonly cookie: Redacted.Redacted<string> | undefined
}

/** Who acts, as a caller gave it. A malformed token is refused like an unknown one, and a malformed cookie like none. */
export const bearerOf = (given: unknown): Effect.Effect<Bearer, ApprovalSessionClosed> => {
  const { cookie, token: secret } = givenMembers(given, ["token", "cookie"])
  const token = readSecret(secret)
  return token === undefined
    ? Effect.fail(new ApprovalSessionClosed())
    : Effect.succeed({ token, cookie: readSecret(cookie) })
}

/** The language that a caller wants the page in. */
export const languageOf = (given: unknown): Effect.Effect<Language, ValidationFailed> => {
  const { language } = givenMembers(given, ["language"])
  return isLanguage(language)
    ? Effect.succeed(language)
    : Effect.fail(new ValidationFailed({ errors: [UNKNOWN_LANGUAGE] }))
}

const UNKNOWN_LANGUAGE: MemberFault = {
  pointer: "/language",
  code: "invalid_value",
  detail: `must be one of ${LANGUAGES.join(", ")}`
}

/** The identifiers that the log line of a request to the approval origin carries. */
export interface LoggedContext {
  readonly sessionId: string
  readonly organizationId: string
  readonly mandateId: string
}

export const loggedContext = (session: ApprovalSessionState): LoggedContext => ({
  sessionId: session.id,
  organizationId: session.organizationId,
  mandateId: session.mandateId
})

/** The session of a token, with its mandate's stream as of now. */
export interface CeremonySession {
  readonly current: CurrentStream
  readonly session: ApprovalSessionState
}

type SubjectChange = { readonly expected: "absent" | number; readonly next: SubjectCredentials }

const byToken = (token: Redacted.Redacted<string>) => ({ approvalTokenHash: secretHash(token) })

/** Loads the session of a token in any state, and records what is due. `undefined` for a token that was never issued. */
export const loadSession = Effect.fnUntraced(function* (token: Redacted.Redacted<string>) {
  const store = yield* MandateStore
  const loaded = yield* store.load({ stream: byToken(token), approval: true })
  if (loaded.stream === undefined) return undefined
  const { rememberPlace } = yield* StreamTurns
  rememberPlace(undefined, byToken(token), mandateOf(loaded.stream))
  const current = yield* appendDue(asOf(loaded.stream, loaded.now))
  const { session } = current
  return session === undefined ? undefined : ({ current, session } satisfies CeremonySession)
})

/** Loads the open session of a token. A token that is spent, superseded, expired or unknown is refused alike. */
export const loadOpenSession = Effect.fnUntraced(function* (token: Redacted.Redacted<string>) {
  const found = yield* loadSession(token)
  if (found === undefined) return yield* new ApprovalSessionClosed()
  const { current, session } = found
  if (sessionStateAt(session, current.state.mandate, current.now) !== "OPEN") {
    return yield* new ApprovalSessionClosed()
  }
  return found
})

/** Whether the request may come from a browser that the session is not bound to yet, as the one that begins the ceremony. */
export type Binding = "may_bind" | "must_be_bound"

export const checkBrowser = (
  session: ApprovalSessionState,
  cookie: Redacted.Redacted<string> | undefined,
  binding: Binding
): Effect.Effect<void, ApprovalSessionBound> =>
  (session.boundTo === undefined ? binding === "may_bind" : isBoundBrowser(session, cookie))
    ? Effect.void
    : Effect.fail(new ApprovalSessionBound())

/** Loads the bearer's open session and checks that the request comes from the browser that it is bound to. */
export const loadBearerSession = Effect.fnUntraced(function* ({ token, cookie }: Bearer, binding: Binding) {
  const open = yield* loadOpenSession(token)
  yield* checkBrowser(open.session, cookie, binding)
  return open
})

/** The turn key of a session's mandate. One that is not remembered takes a load to learn. */
const sessionTurnKey = (token: Redacted.Redacted<string>): Effect.Effect<TurnKey<MandateStore>> =>
  Effect.map(StreamTurns, ({ placeOf }) => {
    const place = placeOf(undefined, byToken(token))
    return place === undefined ? loadedTurnKey(token) : mandateTurnKey(place)
  })

const loadedTurnKey = Effect.fnUntraced(function* (token: Redacted.Redacted<string>) {
  const store = yield* MandateStore
  const { stream } = yield* store.load({ stream: byToken(token) })
  return stream === undefined ? JSON.stringify(byToken(token)) : mandateTurnKey(mandateOf(stream))
})

/** Retries an attempt on the session of a token for as long as other writes are recorded first. */
export const untilSessionRecorded = <A, E, R>(
  token: Redacted.Redacted<string>,
  attempt: Effect.Effect<A, E, R>
) => Effect.flatMap(sessionTurnKey(token), (turnKey) => untilAppended(turnKey, attempt))

const subjectChange = (session: ApprovalSessionState, change: SubjectChange | undefined) =>
  change === undefined ? {} : { subject: { reference: session.subjectReference, ...change } }

export const recordSession = (
  current: CurrentStream,
  session: ApprovalSessionState,
  subject?: SubjectChange
) =>
  appendFacts(current, {
    facts: [],
    boundaries: [session.expiresAt],
    sessions: [session],
    ...subjectChange(session, subject)
  })

/** Refuses a passkey response that failed verification. Its challenge is spent, and the mandate stays as it is. */
export const refusePasskey = Effect.fnUntraced(function* (
  { current, session }: CeremonySession,
  cause: unknown
) {
  yield* Effect.logInfo("passkey refused", cause)
  yield* recordSession(current, withoutChallenge(session))
  return yield* new PasskeyVerificationFailed()
})

/** Records the user's decision and closes the session, in one write. */
export const recordDecision = Effect.fnUntraced(function* (
  { current, session }: CeremonySession,
  decision: {
    readonly state: "COMPLETED" | "REJECTED"
    readonly command: Command
    readonly subject?: SubjectChange
  }
) {
  const verdict = decide(current.state, current.head.bytes, decision.command, current.now)
  if (Result.isFailure(verdict)) return yield* new ApprovalSessionClosed()
  const { facts, boundaries } = verdict.success
  yield* appendFacts(current, {
    facts,
    boundaries: [...boundaries, session.expiresAt],
    sessions: [decidedSession(session, decision.state)],
    ...subjectChange(session, decision.subject)
  })
  return { redirect_to: returnAddress(session) }
})

export const organizationNameOf = Effect.fnUntraced(function* (organization: string) {
  const organizations = yield* Organizations
  const found = yield* organizations.find(organization)
  if (found === undefined) return yield* new StoreUnavailable({ cause: "an organization is missing" })
  return found.name
})
