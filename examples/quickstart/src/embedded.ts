/**
 * The core without a server, on the memory store: a mandate is created, approved with a passkey, used once and proven. In
 * your service, the store, the signer and the other ports are layers of your choice, and a person approves in a browser.
 */
import type { Organization } from "@svc/domain/organization/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import { Organizations } from "@svc/domain/ports/Organizations"
import { Signer } from "@svc/domain/ports/Signer"
import { createApprovalSession } from "@svc/domain/programs/ApprovalSessions"
import { commitAuthorization, proposeAuthorization } from "@svc/domain/programs/Authorizations"
import { admitBearer } from "@svc/domain/programs/ceremony/AdmitBearer"
import { approveMandate } from "@svc/domain/programs/ceremony/ApproveMandate"
import { beginCeremony } from "@svc/domain/programs/ceremony/BeginCeremony"
import { registerPasskey } from "@svc/domain/programs/ceremony/RegisterPasskey"
import { readEvidence } from "@svc/domain/programs/Evidence"
import { createMandate } from "@svc/domain/programs/Mandates"
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import * as PasskeyVerifierWebAuthn from "@svc/passkey-webauthn/PasskeyVerifierWebAuthn"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf } from "@svc/protocol/evidence/Commitment"
import { verifyEvidence } from "@svc/protocol/evidence/EvidenceEnvelope"
import type { JsonValue } from "@svc/protocol/json/Json"
import { formatNanos } from "@svc/protocol/Timestamp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Clock, Effect, Layer, Redacted } from "effect"
import { endWithOutput } from "./ClosedOutput.ts"

const APPROVAL_ORIGIN = "http://localhost:8081"

/** The services that the programs require. */
export const ports = Layer.mergeAll(
  MemoryStore.layer,
  SignerNodeCrypto.layerEphemeral,
  SecretSealerNodeCrypto.layer({ current: Redacted.make(crypto.getRandomValues(new Uint8Array(32))) }),
  RandomnessNodeCrypto.layer,
  TimeZonesIntl.layer,
  IdentityVerifierJose.layer,
  PasskeyVerifierWebAuthn.layer,
  Layer.succeed(Deployment, {
    environment: "test",
    baseUrl: "http://localhost:8080",
    approvalBaseUrl: APPROVAL_ORIGIN,
    approvalOrigin: APPROVAL_ORIGIN,
    rpId: "localhost",
    localhostReturnOrigins: true
  })
)

const issuer = makeIdentityIssuer({ issuer: "https://shop.example", audience: "svc" })

export const organization: Organization = {
  id: "org_01jdxxxxxxxxxxxxxxxxxxxxxx",
  environment: "test",
  name: "Shop",
  identity: {
    issuer: issuer.issuer,
    audience: issuer.audience,
    algorithms: ["ES256"],
    keys: { jwks: issuer.publicJwks }
  },
  returnOrigins: ["https://shop.example"],
  reportGraceSeconds: 0,
  passkeyEnrolment: "FIRST_USE"
}

/** A write of the caller, with a new idempotency key for each logical operation. */
const write = (idempotencyKey: string, body: JsonValue) => ({ organization, idempotencyKey, body })

/** Approves an approval URL as the end user's browser and passkey would. */
const approveInBrowser = Effect.fnUntraced(function* (approvalUrl: string) {
  const token = Redacted.make(approvalUrl.slice(approvalUrl.lastIndexOf("/") + 1))
  yield* admitBearer({ token, cookieOf: () => undefined, ceremony: true })
  const passkey = makeSoftwarePasskey({ origin: APPROVAL_ORIGIN })
  const first = yield* beginCeremony({ token, cookie: undefined, language: "en" })
  const browser = { token, cookie: first.bind?.cookie }
  const registration = passkey.register(first.options as never) as unknown as JsonValue
  yield* registerPasskey({ ...browser, body: registration })
  const second = yield* beginCeremony({ ...browser, language: "en" })
  const assertion = passkey.authenticate(second.options as never) as unknown as JsonValue
  return yield* approveMandate({ ...browser, body: assertion })
})

/** The whole lifecycle. Returns the decision, the outcome and the types of the events in the evidence. */
export const lifecycle = Effect.gen(function* () {
  const organizations = yield* Organizations
  yield* organizations.put(organization)
  const now = yield* Clock.currentTimeMillis
  const subject = "user_1"
  const { resource: mandate } = yield* createMandate(
    write("mandate-1", {
      kind: "SINGLE",
      subject_reference: subject,
      policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
      window: { ends_at: new Date(now + 86_400_000).toISOString() }
    })
  )
  const identity_assertion = yield* Effect.promise(() =>
    issuer.assertion({ subject, now: BigInt(now) * 1_000_000n })
  )
  const { resource: session } = yield* createApprovalSession({
    ...write("session-1", {
      identity_assertion,
      return_url: "https://shop.example/approved",
      return_state: "unpredictable-0001"
    }),
    mandateId: mandate.id
  })
  yield* approveInBrowser(session.approval_url ?? "")

  const opening = crypto.getRandomValues(new Uint8Array(32))
  const { resource: authorization } = yield* proposeAuthorization({
    ...write("order-1", {
      external_reference: "order-1",
      proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
      execution_window_seconds: 900,
      commitment: commitmentOf(opening)
    }),
    mandateId: mandate.id
  })
  if (authorization.can_execute !== true) return yield* Effect.die("the action may not be executed")
  // Here the caller executes the action with its own provider, then reports the outcome.
  const { resource: outcome } = yield* commitAuthorization({
    ...write("order-1-commit", {
      external_action_reference: "order-1",
      provider_transaction_reference: "txn_7001",
      reported_accepted_at: formatNanos(yield* Clock.currentTimeNanos),
      commitment_opening: encodeBase64Url(opening)
    }),
    authorizationId: authorization.id
  })
  const evidence = yield* readEvidence({ organization: organization.id, mandateId: mandate.id })
  const keySet = yield* (yield* Signer).keySet
  const { payload } = yield* Effect.fromResult(verifyEvidence(evidence, keySet))
  const { events } = payload as unknown as { readonly events: ReadonlyArray<{ readonly type: string }> }
  return { decision: authorization.decision, outcome: outcome.state, proven: events.map(({ type }) => type) }
})

const HELP =
  "npm run embedded: walks the whole lifecycle with the library alone, on the memory store, without a server."

if (import.meta.main) {
  endWithOutput()
  const isHelp = process.argv.slice(2).includes("--help")
  console.log(isHelp ? HELP : await Effect.runPromise(Effect.provide(lifecycle, ports)))
}
