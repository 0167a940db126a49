import { type ApprovalSession, CreateApprovalSessionBody } from "@svc/protocol/ApprovalSession"
import { sha256Base64Url } from "@svc/protocol/crypto/Sha256"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { KEYED_ROUTES } from "@svc/protocol/request/KeyedRoute"
import { isWellFormedText, Text } from "@svc/protocol/Text"
import { formatNanos, type Instant, isWritableInstant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, Redacted, Schema } from "effect"
import type { ApprovalSessionState } from "../approval/ApprovalSessionState.ts"
import { secretHash, secretOfBytes } from "../approval/BearerSecret.ts"
import { parseReturnUrl } from "../approval/ReturnUrl.ts"
import { sessionExpiry, sessionStateAt, supersededBy } from "../approval/SessionLifecycle.ts"
import { activePasskeys, enrolmentOf, mayEnrol } from "../approval/SubjectPasskeys.ts"
import { appendDue, appendFacts } from "../engine/AppendFacts.ts"
import { asOf, type CurrentStream } from "../engine/CurrentStream.ts"
import { holderOf, keyedOperation } from "../engine/IdempotencyKey.ts"
import { organizationOnRecord } from "../engine/OrganizationRecord.ts"
import { namedStream, tryReadStream } from "../engine/ReadStream.ts"
import { mandateTurnKey } from "../engine/StreamTurns.ts"
import { untilAppended } from "../engine/UntilAppended.ts"
import {
  admitWrite,
  LIFECYCLE_WRITE,
  validBody,
  type WriteRefusal,
  type WriteRequest,
  type WriteResult
} from "../engine/WriteRequest.ts"
import { makeIdentifier } from "../Identifiers.ts"
import type { MandateState } from "../mandate/MandateState.ts"
import { prepareTerms } from "../mandate/PreparedTerms.ts"
import type { Organization } from "../organization/Organization.ts"
import { Deployment } from "../ports/Deployment.ts"
import {
  type IdentityKeysUnavailable,
  IdentityVerifier,
  type VerifiedIdentity
} from "../ports/IdentityVerifier.ts"
import { MandateStore, StoreUnavailable, type UniqueClaim } from "../ports/MandateStore.ts"
import type { Organizations } from "../ports/Organizations.ts"
import { Randomness } from "../ports/Randomness.ts"
import { SecretSealer } from "../ports/SecretSealer.ts"
import {
  AssertionReplayed,
  EnrolmentNotAllowed,
  type IdempotencyKeyReused,
  IdentityAssertionInvalid,
  NotFound,
  ReturnUrlNotAllowed,
  StateConflict,
  SubjectMismatch
} from "../Refusals.ts"

/** Random bytes of an approval token. */
export const APPROVAL_TOKEN_BYTES = 32
/** How long after its expiry an identity assertion stays used, in seconds (part 6). */
export const ASSERTION_MEMORY_SECONDS = 3600n

const decodeCreate = decodeBody(CreateApprovalSessionBody)

const sealContext = (organization: string, session: string) =>
  ({ purpose: "approval_token", organization, row: session, version: 1 }) as const

const sessionResource = Effect.fnUntraced(function* (
  session: ApprovalSessionState,
  mandate: MandateState,
  now: Instant
): Effect.fn.Return<ApprovalSession, StoreUnavailable, SecretSealer | Deployment> {
  const state = sessionStateAt(session, mandate, now)
  const resource = {
    id: session.id as ApprovalSession["id"],
    mandate_id: session.mandateId as ApprovalSession["mandate_id"],
    state,
    created_at: formatNanos(session.createdAt),
    expires_at:
      session.expiresAt === prepareTerms(mandate.terms).approvalDeadline
        ? mandate.terms.approval_deadline
        : formatNanos(session.expiresAt)
  }
  if (state !== "OPEN") return resource
  const sealer = yield* SecretSealer
  const { approvalBaseUrl } = yield* Deployment
  const token = yield* sealer
    .open(sealContext(session.organizationId, session.id), session.sealedToken)
    .pipe(Effect.mapError((cause) => new StoreUnavailable({ cause })))
  return { ...resource, approval_url: `${approvalBaseUrl}/approve/${Redacted.value(token)}` }
})

const NO_IDENTITY =
  "The organization takes no identity assertions yet: whose it takes is one of its settings (an identity provider, or identify of an embedded service)."

const verifyIdentity = Effect.fnUntraced(function* (
  organization: Organization,
  assertion: string,
  now: Instant
): Effect.fn.Return<VerifiedIdentity, IdentityAssertionInvalid | IdentityKeysUnavailable, IdentityVerifier> {
  const verifier = yield* IdentityVerifier
  const { identity } = organization
  if (identity === undefined) return yield* new IdentityAssertionInvalid({ detail: NO_IDENTITY })
  const verified = yield* verifier
    .verify({ organization: organization.id, assertion, settings: identity, now })
    .pipe(
      Effect.catchTag("IdentityAssertionRefused", ({ detail, reason }) =>
        Effect.andThen(
          Effect.logInfo("identity assertion refused", reason),
          Effect.fail(new IdentityAssertionInvalid(detail === undefined ? {} : { detail }))
        )
      )
    )
  if (isKeepable(verified)) return verified
  yield* Effect.logInfo("identity assertion refused", "what its verifier found cannot be kept")
  return yield* new IdentityAssertionInvalid({})
})

const isReference = Schema.is(Text)

/** Whether a verifier, which may be a host's own, found what part 6 asks of an assertion. */
const isKeepable = ({ expiresAt, issuer, jti, subject }: VerifiedIdentity): boolean =>
  isReference(subject) &&
  isReference(jti) &&
  typeof issuer === "string" &&
  isWellFormedText(issuer) &&
  typeof expiresAt === "bigint" &&
  isWritableInstant(expiresAt)

const openSession = Effect.fnUntraced(function* (
  current: CurrentStream,
  session: Pick<ApprovalSessionState, "returnUrl" | "returnState" | "enrolment" | "identity">
): Effect.fn.Return<ApprovalSessionState, never, Randomness | SecretSealer> {
  const sealer = yield* SecretSealer
  const randomness = yield* Randomness
  const { now } = current
  const { terms } = current.state.mandate
  const id = yield* makeIdentifier("aps_", now)
  const token = secretOfBytes(randomness.bytes(APPROVAL_TOKEN_BYTES), "approval_token")
  const { approvalDeadline } = prepareTerms(terms)
  return {
    id,
    organizationId: current.organization,
    mandateId: terms.mandate_id,
    subjectReference: terms.subject_reference,
    state: "OPEN",
    createdAt: now,
    expiresAt: sessionExpiry(now, approvalDeadline),
    tokenHash: secretHash(token),
    sealedToken: yield* sealer.seal(sealContext(current.organization, id), token),
    ...session
  }
})

type Failure =
  | WriteRefusal
  | IdempotencyKeyReused
  | NotFound
  | ReturnUrlNotAllowed
  | StateConflict
  | IdentityAssertionInvalid
  | IdentityKeysUnavailable
  | SubjectMismatch
  | EnrolmentNotAllowed
  | AssertionReplayed
  | StoreUnavailable

/**
 * Opens an approval session for a mandate that waits for approval (part 6, POST
 * /v1/mandates/{mandate_id}/approval-sessions). The checks come in the order of part 6; an earlier open session is
 * superseded in the same write.
 */
export const createApprovalSession = Effect.fn("createApprovalSession")(function* (
  request: WriteRequest & { readonly mandateId: string }
): Effect.fn.Return<
  WriteResult<ApprovalSession>,
  Failure,
  MandateStore | Organizations | IdentityVerifier | SecretSealer | Randomness | Deployment
> {
  const admitted = yield* admitWrite(request, LIFECYCLE_WRITE, ["mandateId"])
  const organization = yield* organizationOnRecord(admitted.organization.id)
  const { mandateId } = admitted.path
  const store = yield* MandateStore
  const { localhostReturnOrigins } = yield* Deployment
  const key = keyedOperation(admitted, {
    operation: KEYED_ROUTES.createApprovalSession,
    path: { mandate_id: mandateId }
  })
  const stream = namedStream({ mandate: mandateId })
  let verified: VerifiedIdentity | undefined
  const attempt = Effect.gen(function* () {
    const loaded = yield* store.load({
      organization: organization.id,
      claims: [key.claimName],
      ...(stream === undefined ? {} : { stream, approval: true })
    })
    const holder = holderOf(loaded.held, key.claimName)
    if (holder !== undefined) {
      yield* key.check(holder)
      const current = yield* tryReadStream({
        organization: organization.id,
        stream: { approvalSession: holder.resource },
        approval: true
      })
      if (current.session === undefined) return yield* new NotFound()
      return {
        resource: yield* sessionResource(current.session, current.state.mandate, current.now),
        replayed: true
      }
    }
    const body = yield* validBody(decodeCreate(admitted.body))
    if (loaded.stream === undefined) return yield* new NotFound()
    const returnUrl = parseReturnUrl(body.return_url, {
      returnOrigins: organization.returnOrigins,
      localhostAllowed: localhostReturnOrigins
    })
    if (returnUrl === undefined) return yield* new ReturnUrlNotAllowed()
    const current = asOf(loaded.stream, loaded.now)
    const { terms, state } = current.state.mandate
    if (state !== "PENDING_APPROVAL") {
      yield* appendDue(current)
      return yield* new StateConflict({
        currentState: state,
        resourceId: mandateId,
        needed: ["PENDING_APPROVAL"]
      })
    }
    // Verified once per request, not again by an attempt that repeats after a lost race.
    verified ??= yield* verifyIdentity(organization, body.identity_assertion, current.now)
    const identity = verified
    if (identity.subject !== terms.subject_reference) return yield* new SubjectMismatch()
    const enrolment = enrolmentOf(organization, identity)
    if (activePasskeys(current.subject).length === 0 && !mayEnrol(enrolment, current.subject)) {
      return yield* new EnrolmentNotAllowed()
    }
    const session = yield* openSession(current, {
      returnUrl: returnUrl.href,
      returnState: body.return_state,
      enrolment,
      identity: {
        issuer: identity.issuer,
        jti: identity.jti,
        assertionSha256: sha256Base64Url(body.identity_assertion)
      }
    })
    const claims: ReadonlyArray<UniqueClaim> = [
      key.claim(session.id),
      {
        kind: "assertion",
        name: identity.jti,
        fingerprint: "",
        resource: session.id,
        expiresAt: identity.expiresAt + ASSERTION_MEMORY_SECONDS * NANOS_PER_SECOND
      }
    ]
    const superseded = supersededBy(current.session, current.now)
    yield* appendFacts(current, {
      facts: [],
      boundaries: superseded.map((earlier) => earlier.expiresAt),
      sessions: [...superseded, session],
      claims
    })
    return { resource: yield* sessionResource(session, current.state.mandate, current.now), replayed: false }
  }).pipe(
    Effect.catchIf(
      (error) => error._tag === "ClaimTaken" && error.kind === "assertion",
      () => Effect.fail(new AssertionReplayed())
    )
  )
  // Not in turn at first: the identity provider may take its time, and nobody should wait for it.
  return yield* untilAppended(
    Effect.succeed(mandateTurnKey({ organization: organization.id, mandate: mandateId })),
    attempt
  )
})
