import { approvalChallenge } from "@svc/protocol/ApprovalChallenge"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import type { JsonObject, JsonValue } from "@svc/protocol/Json"
import { formatNanos, type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, type Redacted, Result } from "effect"
import type {
  ApprovalSessionState,
  OpenChallenge,
  PasskeyRecord,
  SubjectCredentials
} from "../approval/ApprovalSessionState.ts"
import type { ApprovalRecord, ApprovalStatement, DisplayLine } from "../approval/ApprovalStatement.ts"
import type { AuthenticationResponse } from "../approval/PasskeyResponse.ts"
import { readAuthenticationResponse, readRegistrationResponse } from "../approval/PasskeyResponse.ts"
import { redirectTo } from "../approval/ReturnUrl.ts"
import { displayLines } from "../approval/StatementDisplay.ts"
import type { Language } from "../approval/StatementLanguage.ts"
import { appendDue, appendFacts } from "../engine/AppendFacts.ts"
import { asOf, type CurrentStream } from "../engine/CurrentStream.ts"
import { streamTurnKey, untilAppended } from "../engine/UntilAppended.ts"
import { validBody } from "../engine/WriteRequest.ts"
import { makeIdentifier } from "../Identifiers.ts"
import { type Command, decide } from "../mandate/Decide.ts"
import { Deployment } from "../ports/Deployment.ts"
import { MandateStore, StoreUnavailable } from "../ports/MandateStore.ts"
import { Organizations } from "../ports/Organizations.ts"
import { PasskeyVerifier } from "../ports/PasskeyVerifier.ts"
import { Randomness } from "../ports/Randomness.ts"
import {
  ApprovalSessionBound,
  ApprovalSessionClosed,
  EnrolmentNotAllowed,
  PasskeyVerificationFailed,
  type ValidationFailed
} from "../Refusals.ts"
import { activePasskeys, drawSecret, mayEnrol, secretHash, sessionStateAt } from "./ApprovalSessions.ts"

/**
 * How long a browser keeps its cookie after the session's end, in seconds: so long the page of the closed link tells it what
 * it did, and leads it back.
 */
const COOKIE_AFTER_END_SECONDS = 3600

/** Random bytes of a WebAuthn challenge, a nonce, a user handle and a session cookie. */
const CEREMONY_RANDOM_BYTES = 32
/** COSE algorithms that a passkey may have, in order of preference: ES256, EdDSA, RS256 (part 6). */
export const PASSKEY_ALGORITHMS = [-7, -8, -257] as const

/** Who acts in a ceremony: the bearer of the token, in the browser that holds the cookie. */
export interface Bearer {
  readonly token: Redacted.Redacted<string>
  readonly cookie: Redacted.Redacted<string> | undefined
}

interface OpenSession {
  readonly current: CurrentStream
  readonly session: ApprovalSessionState
}

type Ports = MandateStore | Randomness

/** Loads the session of a token, whatever its state, everything due recorded. Absent for a token that was never given. */
export const loadByToken = Effect.fnUntraced(function* (token: Redacted.Redacted<string>) {
  const store = yield* MandateStore
  const loaded = yield* store.load({ stream: { approvalTokenHash: secretHash(token) }, approval: true })
  if (loaded.stream === undefined) return undefined
  const current = yield* appendDue(asOf(loaded.stream, loaded.now))
  const { session } = current
  return session === undefined ? undefined : { current, session }
})

/** Loads the session of a token. Spent, superseded, expired and unknown are one answer. */
const loadSession = Effect.fnUntraced(function* (token: Redacted.Redacted<string>) {
  const found = yield* loadByToken(token)
  if (found === undefined) return yield* new ApprovalSessionClosed()
  const { current, session } = found
  if (sessionStateAt(session, current.state.mandate, current.now) !== "OPEN") {
    return yield* new ApprovalSessionClosed()
  }
  return { current, session } satisfies OpenSession
})

/** Whether this is the cookie of the browser that began the ceremony. */
export const isOfBoundBrowser = (
  session: ApprovalSessionState,
  cookie: Redacted.Redacted<string> | undefined
): boolean => cookie !== undefined && secretHash(cookie) === session.boundTo

/** The first ceremony binds the session to a browser; from then on, and for everything else, it must be that one. */
const checkBrowser = (
  session: ApprovalSessionState,
  cookie: Redacted.Redacted<string> | undefined,
  mayBind: boolean
): Effect.Effect<void, ApprovalSessionBound> => {
  if (session.boundTo === undefined) return mayBind ? Effect.void : Effect.fail(new ApprovalSessionBound())
  return isOfBoundBrowser(session, cookie) ? Effect.void : Effect.fail(new ApprovalSessionBound())
}

const loadBound = Effect.fnUntraced(function* ({ token, cookie }: Bearer, mayBind: boolean) {
  const open = yield* loadSession(token)
  yield* checkBrowser(open.session, cookie, mayBind)
  return open
})

/** Runs an attempt on the session of a token until no other write gets in between. */
export const retried = <A, E, R>(token: Redacted.Redacted<string>, attempt: Effect.Effect<A, E, R>) =>
  untilAppended(streamTurnKey({ stream: { approvalTokenHash: secretHash(token) } }), attempt)

const recordSession = (
  current: CurrentStream,
  session: ApprovalSessionState,
  subject?: { readonly expected: "absent" | number; readonly next: SubjectCredentials }
) =>
  appendFacts(current, {
    facts: [],
    boundaries: [session.expiresAt],
    sessions: [session],
    ...(subject === undefined ? {} : { subject: { reference: session.subjectReference, ...subject } })
  })

const withoutChallenge = ({ challenge: _, ...session }: ApprovalSessionState): ApprovalSessionState => session

/** What reached verification and failed has spent its challenge; the mandate stays as it is. */
const refuseAttempt = Effect.fnUntraced(function* ({ current, session }: OpenSession, cause: unknown) {
  yield* Effect.logInfo("passkey refused", cause)
  yield* recordSession(current, withoutChallenge(session))
  return yield* new PasskeyVerificationFailed()
})

/** What a request of the approval origin is about, for its log. */
export interface ApprovalSubject {
  readonly sessionId: string
  readonly organizationId: string
  readonly mandateId: string
}

export const aboutOf = (session: ApprovalSessionState): ApprovalSubject => ({
  sessionId: session.id,
  organizationId: session.organizationId,
  mandateId: session.mandateId
})

/**
 * The token and cookie steps of the order of checks, before the body is looked at (part 6). The cookie's name holds the
 * session's identifier, so it is picked once that is known.
 */
export const admitBearer = Effect.fn("admitBearer")(function* (query: {
  readonly token: Redacted.Redacted<string>
  readonly cookieOf: (sessionId: string) => Redacted.Redacted<string> | undefined
  /** Whether this is the ceremony request, which an unbound browser may make. */
  readonly ceremony: boolean
}): Effect.fn.Return<
  { readonly bearer: Bearer; readonly about: ApprovalSubject },
  ApprovalSessionClosed | ApprovalSessionBound | StoreUnavailable,
  Ports
> {
  const { token } = query
  const { session } = yield* retried(token, loadSession(token))
  const cookie = query.cookieOf(session.id)
  yield* checkBrowser(session, cookie, query.ceremony)
  return { bearer: { token, cookie }, about: aboutOf(session) }
})

const organizationNameOf = Effect.fnUntraced(function* (organization: string) {
  const organizations = yield* Organizations
  const found = yield* organizations.find(organization)
  if (found === undefined) return yield* new StoreUnavailable({ cause: "an organization is missing" })
  return found.name
})

/** Where the browser goes after an answer, and without one: they look the same (part 6). */
export const returnAddress = (session: ApprovalSessionState): string =>
  redirectTo(session.returnUrl, {
    return_state: session.returnState,
    approval_session_id: session.id
  })

/**
 * What lies ahead of the user: to create a passkey and approve with it, to approve with one there is, or neither, because
 * there is none and the session may not create one.
 */
export type WayToApprove = "register" | "approve" | "none"

const wayToApprove = ({ current: { subject }, session }: OpenSession): WayToApprove => {
  if (candidates(session, subject).length > 0) return "approve"
  return mayEnrol(session.enrolment, subject) ? "register" : "none"
}

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
    /** Back to the caller without an answer; it looks the same as the way back after one. */
    readonly returnAddress: string
    readonly now: Instant
    readonly expiresAt: Instant
    readonly about: ApprovalSubject
  },
  ApprovalSessionClosed | StoreUnavailable,
  Ports | Organizations
> {
  const { current, session } = yield* retried(query.token, loadSession(query.token))
  const organizationName = yield* organizationNameOf(current.organization)
  return {
    organizationName,
    ...displayLines(current.state.mandate.terms, organizationName, current.now, query.language),
    way: wayToApprove({ current, session }),
    returnAddress: returnAddress(session),
    now: current.now,
    expiresAt: session.expiresAt,
    about: aboutOf(session)
  }
})

/** Whether the subject has, or had, this credential. */
const isKnown = (subject: SubjectCredentials | undefined, credentialId: string): boolean =>
  subject?.passkeys.some((passkey) => passkey.credentialId === credentialId) ?? false

/** The passkeys that can approve in this session: the subject's, or while it has none the provisional one. */
const candidates = (session: ApprovalSessionState, subject: SubjectCredentials | undefined) => {
  const active = activePasskeys(subject)
  if (active.length > 0) return active
  const { provisionalPasskey } = session
  if (provisionalPasskey === undefined || !mayEnrol(session.enrolment, subject)) return []
  // A credential that was the subject's in the meantime, and was retired, must not come back under another name.
  return isKnown(subject, provisionalPasskey.credentialId) ? [] : [provisionalPasskey]
}

const creationOptions = (input: {
  readonly rpId: string
  readonly organizationName: string
  readonly userHandle: string
  readonly challenge: string
  readonly timeout: number
}): JsonObject => ({
  rp: { id: input.rpId, name: input.organizationName },
  user: { id: input.userHandle, name: input.organizationName, displayName: input.organizationName },
  challenge: input.challenge,
  pubKeyCredParams: PASSKEY_ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
  timeout: input.timeout,
  excludeCredentials: [],
  authenticatorSelection: {
    residentKey: "required",
    requireResidentKey: true,
    userVerification: "required"
  },
  attestation: "none"
})

const requestOptions = (input: {
  readonly rpId: string
  readonly passkeys: ReadonlyArray<PasskeyRecord>
  readonly challenge: string
  readonly timeout: number
}): JsonObject => ({
  challenge: input.challenge,
  rpId: input.rpId,
  timeout: input.timeout,
  allowCredentials: input.passkeys.map((passkey) => ({ type: "public-key", id: passkey.credentialId })),
  userVerification: "required"
})

const statementOf = (
  { current, session }: OpenSession,
  organizationName: string,
  language: Language,
  nonce: string
): ApprovalStatement => {
  const { terms } = current.state.mandate
  return {
    approval_session_id: session.id,
    environment: terms.environment,
    organization_id: terms.organization_id,
    organization_name: organizationName,
    mandate_id: terms.mandate_id,
    subject_reference: terms.subject_reference,
    kind: terms.kind,
    policy: terms.policy,
    policy_digest: terms.policy_digest,
    window: terms.window,
    approval_deadline: terms.approval_deadline,
    ...(terms.description === undefined ? {} : { description: terms.description }),
    display: displayLines(terms, organizationName, current.now, language),
    nonce
  }
}

/** What the browser needs for its next step. */
export interface CeremonyStep {
  readonly step: "register" | "approve"
  readonly options: JsonObject
  readonly statement?: ApprovalStatement
  /** Set when this request bound the session to its browser: the cookie to give it. */
  readonly bind?: {
    readonly sessionId: string
    readonly cookie: Redacted.Redacted<string>
    readonly maxAgeSeconds: number
  }
}

/** Until the session ends, in milliseconds. */
const remaining = (session: ApprovalSessionState, now: Instant): number =>
  Number((session.expiresAt - now) / NANOS_PER_MILLISECOND)

/**
 * Opens a challenge for the next step and binds the session to the browser. A new ceremony replaces the open challenge
 * (part 6, POST /approve/{token}/ceremony).
 */
export const beginCeremony = Effect.fn("beginCeremony")(function* (
  bearer: Bearer & { readonly language: Language }
): Effect.fn.Return<
  CeremonyStep,
  ApprovalSessionClosed | ApprovalSessionBound | EnrolmentNotAllowed | StoreUnavailable,
  Ports | Organizations | Deployment
> {
  const { rpId } = yield* Deployment
  const randomness = yield* Randomness
  const draw = () => encodeBase64Url(randomness.bytes(CEREMONY_RANDOM_BYTES))
  const attempt = Effect.gen(function* () {
    const { current, session } = yield* loadBound(bearer, true)
    const organizationName = yield* organizationNameOf(current.organization)
    const way = wayToApprove({ current, session })
    if (way === "none") return yield* new EnrolmentNotAllowed()
    const subject = current.subject ?? { revision: 1, userHandle: draw(), passkeys: [] }
    const timeout = remaining(session, current.now)
    const statement =
      way === "register"
        ? undefined
        : statementOf({ current, session }, organizationName, bearer.language, draw())
    const challenge: OpenChallenge =
      statement === undefined
        ? { step: "register", challenge: draw() }
        : {
            step: "approve",
            challenge: encodeBase64Url(approvalChallenge(statement as unknown as JsonValue)),
            statement
          }
    const cookie = drawSecret(randomness, CEREMONY_RANDOM_BYTES, "approval_cookie")
    const bound = session.boundTo ?? secretHash(cookie)
    yield* recordSession(
      current,
      { ...session, boundTo: bound, challenge },
      current.subject === undefined ? { expected: "absent", next: subject } : undefined
    )
    const common = { rpId, challenge: challenge.challenge, timeout }
    return {
      step: challenge.step,
      options:
        statement === undefined
          ? creationOptions({ ...common, organizationName, userHandle: subject.userHandle })
          : requestOptions({ ...common, passkeys: candidates(session, current.subject) }),
      ...(statement === undefined ? {} : { statement }),
      ...(session.boundTo === undefined
        ? {
            bind: {
              sessionId: session.id,
              cookie,
              maxAgeSeconds:
                Number((session.expiresAt - current.now) / NANOS_PER_SECOND) + COOKIE_AFTER_END_SECONDS
            }
          }
        : {})
    }
  })
  return yield* retried(bearer.token, attempt)
})

/**
 * Takes a new passkey on trial: it serves this session and its browser, and becomes the subject's with the approval
 * (part 6, POST /approve/{token}/passkey).
 */
export const registerPasskey = Effect.fn("registerPasskey")(function* (
  request: Bearer & { readonly body: JsonValue }
): Effect.fn.Return<
  { readonly passkey_id: string },
  | ValidationFailed
  | ApprovalSessionClosed
  | ApprovalSessionBound
  | EnrolmentNotAllowed
  | PasskeyVerificationFailed
  | StoreUnavailable,
  Ports | Deployment | PasskeyVerifier
> {
  const { rpId, approvalOrigin } = yield* Deployment
  const verifier = yield* PasskeyVerifier
  const attempt = Effect.gen(function* () {
    const open = yield* loadBound(request, false)
    const { current, session } = open
    const response = yield* validBody(readRegistrationResponse(request.body))
    if (activePasskeys(current.subject).length > 0 || !mayEnrol(session.enrolment, current.subject)) {
      return yield* new EnrolmentNotAllowed()
    }
    const { challenge } = session
    if (challenge?.step !== "register") return yield* new PasskeyVerificationFailed()
    const verified = yield* Effect.result(
      verifier.verifyRegistration({
        response,
        challenge: challenge.challenge,
        relyingParty: { rpId, origin: approvalOrigin }
      })
    )
    if (Result.isFailure(verified)) return yield* refuseAttempt(open, verified.failure.reason)
    if (isKnown(current.subject, verified.success.credentialId))
      return yield* refuseAttempt(open, "credential_retired")
    const id = yield* makeIdentifier("psk_", current.now)
    yield* recordSession(current, {
      ...withoutChallenge(session),
      provisionalPasskey: { id, ...verified.success, enrolledAt: formatNanos(current.now) }
    })
    return { passkey_id: id }
  })
  return yield* retried(request.token, attempt)
})

const approvalRecord = (input: {
  readonly statement: ApprovalStatement
  readonly response: AuthenticationResponse
  readonly passkey: PasskeyRecord
  readonly session: ApprovalSessionState
  readonly rpId: string
  readonly origin: string
}): ApprovalRecord => {
  const { statement, passkey, session } = input
  const { response } = input.response
  return {
    statement,
    rp_id: input.rpId,
    origin: input.origin,
    authenticator_data: response.authenticatorData,
    client_data_json: response.clientDataJSON,
    signature: response.signature,
    ...(response.userHandle === undefined ? {} : { user_handle: response.userHandle }),
    credential: {
      id: passkey.credentialId,
      passkey_id: passkey.id,
      public_key: passkey.publicKey,
      algorithm: passkey.algorithm,
      backup_eligible: passkey.backupEligible,
      enrolled_at: passkey.enrolledAt,
      enrolled_in_this_session: passkey.id === session.provisionalPasskey?.id
    },
    identity: {
      issuer: session.identity.issuer,
      jti: session.identity.jti,
      assertion_sha256: session.identity.assertionSha256
    }
  }
}

/** The subject's passkeys after one of them, or the provisional one, was used. */
const afterUse = (subject: SubjectCredentials, used: PasskeyRecord): SubjectCredentials => ({
  ...subject,
  revision: subject.revision + 1,
  passkeys: [...subject.passkeys.filter((passkey) => passkey.id !== used.id), used]
})

const closeSession = Effect.fnUntraced(function* (
  { current, session }: OpenSession,
  state: "COMPLETED" | "REJECTED",
  command: Command,
  subject?: { readonly expected: number; readonly next: SubjectCredentials }
) {
  const verdict = decide(current.state, current.head.bytes, command, current.now)
  if (Result.isFailure(verdict)) return yield* new ApprovalSessionClosed()
  const { facts, boundaries } = verdict.success
  const { provisionalPasskey: _, ...closed } = withoutChallenge(session)
  yield* appendFacts(current, {
    facts,
    boundaries: [...boundaries, session.expiresAt],
    sessions: [{ ...closed, state }],
    ...(subject === undefined ? {} : { subject: { reference: session.subjectReference, ...subject } })
  })
  return { redirect_to: returnAddress(session) }
})

/** Approves the mandate with a passkey (part 6, POST /approve/{token}/approval). */
export const approveMandate = Effect.fn("approveMandate")(function* (
  request: Bearer & { readonly body: JsonValue }
): Effect.fn.Return<
  { readonly redirect_to: string },
  | ValidationFailed
  | ApprovalSessionClosed
  | ApprovalSessionBound
  | PasskeyVerificationFailed
  | StoreUnavailable,
  Ports | Deployment | PasskeyVerifier
> {
  const { rpId, approvalOrigin } = yield* Deployment
  const verifier = yield* PasskeyVerifier
  const attempt = Effect.gen(function* () {
    const open = yield* loadBound(request, false)
    const { current, session } = open
    const response = yield* validBody(readAuthenticationResponse(request.body))
    const { challenge } = session
    if (challenge?.step !== "approve") return yield* new PasskeyVerificationFailed()
    const { subject } = current
    const passkey = candidates(session, subject).find((entry) => entry.credentialId === response.id)
    if (passkey === undefined || subject === undefined) {
      return yield* refuseAttempt(open, "credential_unknown")
    }
    const verified = yield* Effect.result(
      verifier.verifyAssertion({
        response,
        challenge: challenge.challenge,
        relyingParty: { rpId, origin: approvalOrigin },
        credential: passkey,
        userHandle: subject.userHandle
      })
    )
    if (Result.isFailure(verified)) return yield* refuseAttempt(open, verified.failure.reason)
    const used = { ...passkey, counter: verified.success.counter, lastUsedAt: formatNanos(current.now) }
    const approval = approvalRecord({
      statement: challenge.statement,
      response,
      passkey,
      session,
      rpId,
      origin: approvalOrigin
    })
    return yield* closeSession(
      open,
      "COMPLETED",
      { _tag: "Approve", approval },
      {
        expected: subject.revision,
        next: afterUse(subject, used)
      }
    )
  })
  return yield* retried(request.token, attempt)
})

/** Declines the mandate (part 6, POST /approve/{token}/decline). */
export const declineMandate = Effect.fn("declineMandate")(function* (
  bearer: Bearer
): Effect.fn.Return<
  { readonly redirect_to: string },
  ApprovalSessionClosed | ApprovalSessionBound | StoreUnavailable,
  Ports
> {
  const attempt = Effect.gen(function* () {
    const open = yield* loadBound(bearer, false)
    return yield* closeSession(open, "REJECTED", {
      _tag: "Reject",
      approvalSessionId: open.session.id
    })
  })
  return yield* retried(bearer.token, attempt)
})
