import type { ApprovalRecord } from "@svc/domain/approval/ApprovalStatement"
import { appendDue, appendFacts } from "@svc/domain/engine/AppendFacts"
import { asOf } from "@svc/domain/engine/CurrentStream"
import { mandateTurnKey } from "@svc/domain/engine/StreamTurns"
import { untilAppended } from "@svc/domain/engine/UntilAppended"
import type { WriteRequest } from "@svc/domain/engine/WriteRequest"
import { decide } from "@svc/domain/mandate/Decide"
import type { MandateTerms } from "@svc/domain/mandate/JournalFact"
import type { Organization } from "@svc/domain/organization/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import type { IdentityVerifier } from "@svc/domain/ports/IdentityVerifier"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import type { Organizations } from "@svc/domain/ports/Organizations"
import type { PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { Randomness } from "@svc/domain/ports/Randomness"
import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import type { Signer } from "@svc/domain/ports/Signer"
import type { SubjectStore } from "@svc/domain/ports/SubjectStore"
import type { TimeZones } from "@svc/domain/ports/TimeZones"
import { createApprovalSession } from "@svc/domain/programs/ApprovalSessions"
import {
  cancelAuthorization,
  commitAuthorization,
  listAuthorizations,
  proposeAuthorization,
  readAuthorization,
  reportRefund
} from "@svc/domain/programs/Authorizations"
import { approveMandate } from "@svc/domain/programs/ceremony/ApproveMandate"
import { beginCeremony } from "@svc/domain/programs/ceremony/BeginCeremony"
import { registerPasskey } from "@svc/domain/programs/ceremony/RegisterPasskey"
import { readContinuation, readEvidence } from "@svc/domain/programs/Evidence"
import {
  createMandate,
  listEvents,
  listMandates,
  listPeriods,
  readMandate,
  revokeMandate
} from "@svc/domain/programs/Mandates"
import { NotFound } from "@svc/domain/Refusals"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf } from "@svc/protocol/evidence/Commitment"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { Effect, Layer, Redacted, Result } from "effect"
import type { IdentityIssuer } from "./IdentityIssuer.ts"
import type { SoftwarePasskey } from "./SoftwarePasskey.ts"

/*
 * The domain's programs as a caller uses them, over whatever store is provided: bodies that are right unless said
 * otherwise, keys that are new unless given, and randomness that comes out the same for the same seed.
 */

/** Everything that the programs need. */
export type ProgramPorts =
  | MandateStore
  | SubjectStore
  | Organizations
  | TimeZones
  | Randomness
  | Deployment
  | Signer
  | SecretSealer
  | IdentityVerifier
  | PasskeyVerifier

/** Where stories begin: 2026-12-01T00:00:00Z, in milliseconds. */
export const HARNESS_START = Date.UTC(2026, 11, 1)

/** Bytes that repeat for a seed, so that a run can be replayed. They are not secret. */
export const seededBytes = (seed: number): ((count: number) => Uint8Array) => {
  let state = (seed ^ 0x9e3779b9) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  return (count) => Uint8Array.from({ length: count }, () => next() & 255)
}

/** The port on {@link seededBytes}. */
export const seededRandomness = (seed: number): Layer.Layer<Randomness> =>
  Layer.sync(Randomness, () => Randomness.of({ bytes: seededBytes(seed) }))

/** A test deployment on made-up hosts. */
export const harnessDeployment: Layer.Layer<Deployment> = Layer.succeed(
  Deployment,
  Deployment.of({
    environment: "test",
    baseUrl: "https://api.svc.test",
    approvalBaseUrl: "https://approve.svc.test",
    approvalOrigin: "https://approve.svc.test",
    rpId: "approve.svc.test",
    localhostReturnOrigins: false
  })
)

/** An organization without an identity, unless `parts` gives one. */
export const harnessOrganization = (parts: Partial<Organization> = {}): Organization => ({
  id: "org_01jdxxxxxxxxxxxxxxxxxxxxxx",
  environment: "test",
  name: "Ağaç & Söhne",
  returnOrigins: ["https://shop.example"],
  reportGraceSeconds: 0,
  passkeyEnrolment: "FIRST_USE",
  ...parts
})

/** The n-th opening that a caller draws, and what it commits to. */
export const drawnOpening = (number: number): { readonly opening: string; readonly commitment: string } => {
  const bytes = seededBytes(number)(32)
  return { opening: encodeBase64Url(bytes), commitment: commitmentOf(bytes) }
}

/** Body of POST /v1/mandates: SINGLE, open now and for a month. */
export const singleBody = (policy: JsonObject = {}, parts: JsonObject = {}): JsonObject => ({
  kind: "SINGLE",
  subject_reference: "user_8f2",
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"], ...policy },
  window: { ends_at: "2027-01-01T00:00:00Z" },
  ...parts
})

/** The same, RECURRING with one monthly budget of 20000. */
export const recurringBody = (policy: JsonObject = {}, parts: JsonObject = {}): JsonObject =>
  singleBody({ periods: [{ unit: "MONTH", max_amount: 20_000 }], ...policy }, { kind: "RECURRING", ...parts })

/** Body of a proposal that carries the n-th commitment. */
export const proposalBody = (number: number, amount = 1000, parts: JsonObject = {}): JsonObject => ({
  external_reference: `order ${number}`,
  proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } },
  execution_window_seconds: 300,
  commitment: drawnOpening(number).commitment,
  ...parts
})

/** Body of the commit that opens the n-th commitment. */
export const commitReport = (number: number, parts: JsonObject = {}): JsonObject => ({
  external_action_reference: "act_1",
  provider_transaction_reference: "txn_1",
  reported_accepted_at: "2026-12-01T00:00:01Z",
  commitment_opening: drawnOpening(number).opening,
  ...parts
})

export const cancelReport = (parts: JsonObject = {}): JsonObject => ({
  reason: "EXECUTION_FAILED",
  execution_disposition: "NEVER_BECAME_POSSIBLE",
  ...parts
})

export const refundReport = (amount: number, parts: JsonObject = {}): JsonObject => ({
  amount,
  currency: "EUR",
  provider_refund_reference: "ref_1",
  reported_refunded_at: "2026-12-01T00:00:02Z",
  ...parts
})

/** Right in form and proving nothing: for stories in which the approval itself is of no interest. */
const unprovenApproval = (terms: MandateTerms): ApprovalRecord => ({
  statement: {
    approval_session_id: "aps_00000000000000000000000000",
    environment: terms.environment,
    organization_id: terms.organization_id,
    organization_name: "unproven",
    mandate_id: terms.mandate_id,
    subject_reference: terms.subject_reference,
    kind: terms.kind,
    policy: terms.policy,
    policy_digest: terms.policy_digest,
    window: terms.window,
    approval_deadline: terms.approval_deadline,
    display: { locale: "en", lines: [] },
    nonce: ""
  },
  rp_id: "approve.svc.test",
  origin: "https://approve.svc.test",
  authenticator_data: "",
  client_data_json: "",
  signature: "",
  credential: {
    id: "",
    passkey_id: "psk_00000000000000000000000000",
    public_key: "",
    algorithm: -7,
    backup_eligible: true,
    enrolled_at: "2026-12-01T00:00:00.000000000Z",
    enrolled_in_this_session: true
  },
  identity: { issuer: "", jti: "", assertion_sha256: "" }
})

/** Approves, or declines, without a session or a passkey: the command alone. */
export const answerDirectly = Effect.fn("answerDirectly")(function* (
  organization: string,
  mandateId: string,
  answer: "Approve" | "Reject" = "Approve"
) {
  const attempt = Effect.gen(function* () {
    const store = yield* MandateStore
    const loaded = yield* store.load({ organization, stream: { mandate: mandateId } })
    if (loaded.stream === undefined) return yield* new NotFound()
    const current = asOf(loaded.stream, loaded.now)
    const command =
      answer === "Approve"
        ? ({ _tag: "Approve", approval: unprovenApproval(current.state.mandate.terms) } as const)
        : ({ _tag: "Reject", approvalSessionId: "aps_00000000000000000000000000" } as const)
    const verdict = decide(current.state, current.head.bytes, command, current.now)
    if (Result.isFailure(verdict)) {
      yield* appendDue(current)
      return yield* Effect.fail(verdict.failure)
    }
    return yield* appendFacts(current, verdict.success)
  })
  return yield* untilAppended(mandateTurnKey({ organization, mandate: mandateId }), attempt)
})

let keys = 0

/** One organization's use of the programs. Every write takes a new key unless one is given. */
export const makeCaller = (organization: Organization = harnessOrganization()) => {
  const write = (body: JsonValue, idempotencyKey?: string): WriteRequest => {
    keys += 1
    return { organization, idempotencyKey: idempotencyKey ?? `key-${keys}`, body }
  }
  const at = { organization: organization.id }
  return {
    organization,
    write,
    create: (body: JsonValue = recurringBody(), key?: string) => createMandate(write(body, key)),
    read: (mandateId: string) => readMandate({ ...at, mandateId }),
    list: (query: Omit<Parameters<typeof listMandates>[0], "organization">) =>
      listMandates({ ...at, ...query }),
    approve: (mandateId: string) => answerDirectly(organization.id, mandateId, "Approve"),
    reject: (mandateId: string) => answerDirectly(organization.id, mandateId, "Reject"),
    revoke: (mandateId: string, body: JsonValue = { reason: "no longer wanted" }, key?: string) =>
      revokeMandate({ ...write(body, key), mandateId }),
    periods: (query: Omit<Parameters<typeof listPeriods>[0], "organization">) =>
      listPeriods({ ...at, ...query }),
    events: (query: Omit<Parameters<typeof listEvents>[0], "organization">) =>
      listEvents({ ...at, ...query }),
    evidence: (mandateId: string) => readEvidence({ ...at, mandateId }),
    continuation: (mandateId: string, afterSeq: number) => readContinuation({ ...at, mandateId, afterSeq }),
    propose: (mandateId: string, body: JsonValue, key?: string) =>
      proposeAuthorization({ ...write(body, key), mandateId }),
    readAuthorization: (authorizationId: string) => readAuthorization({ ...at, authorizationId }),
    authorizations: (query: Omit<Parameters<typeof listAuthorizations>[0], "organization">) =>
      listAuthorizations({ ...at, ...query }),
    commit: (authorizationId: string, body: JsonValue, key?: string) =>
      commitAuthorization({ ...write(body, key), authorizationId }),
    cancel: (authorizationId: string, body: JsonValue = cancelReport(), key?: string) =>
      cancelAuthorization({ ...write(body, key), authorizationId }),
    refund: (authorizationId: string, body: JsonValue, key?: string) =>
      reportRefund({ ...write(body, key), authorizationId })
  }
}

export type Caller = ReturnType<typeof makeCaller>

/** The whole journal of a mandate as it is stored, nothing brought up to date. */
export const storedJournal = Effect.fn("storedJournal")(function* (organization: string, mandate: string) {
  const store = yield* MandateStore
  const texts: Array<string> = []
  for (;;) {
    const page = yield* store.journal({
      organization,
      mandate,
      afterSeq: texts.length,
      uptoSeq: Number.MAX_SAFE_INTEGER,
      limit: 1000
    })
    if (page.length === 0) return texts
    texts.push(...page)
  }
})

/** What approves in the ceremony: the backend that vouches for its user, and the user's device. */
export interface Approver {
  readonly issuer: IdentityIssuer
  readonly passkey: SoftwarePasskey
}

/** Approves as a user does: session, browser, passkey, and back (part 6). Makes the passkey when there is none. */
export const approveInCeremony = Effect.fn("approveInCeremony")(function* (
  caller: Caller,
  { issuer, passkey }: Approver,
  mandate: { readonly id: string; readonly subject_reference: string }
) {
  const store = yield* MandateStore
  const { now } = yield* store.load({ organization: caller.organization.id })
  const assertion = yield* Effect.promise(() => issuer.assertion({ subject: mandate.subject_reference, now }))
  const session = yield* createApprovalSession({
    ...caller.write({
      identity_assertion: assertion,
      return_url: "https://shop.example/return",
      return_state: "state of sixteen characters"
    }),
    mandateId: mandate.id
  })
  const token = Redacted.make(new URL(session.resource.approval_url ?? "").pathname.split("/").at(-1) ?? "")
  let cookie: Redacted.Redacted<string> | undefined
  for (;;) {
    const step = yield* beginCeremony({ token, cookie, language: "en" })
    cookie ??= step.bind?.cookie
    if (step.step === "approve") {
      const body = passkey.authenticate(step.options as never) as unknown as JsonValue
      return yield* approveMandate({ token, cookie, body })
    }
    const body = passkey.register(step.options as never) as unknown as JsonValue
    yield* registerPasskey({ token, cookie, body })
  }
})
