/** The core without a server: a mandate is created and an action proposed, on the memory store. */

import type { Organization } from "@svc/domain/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import { proposeAuthorization } from "@svc/domain/programs/Authorizations"
import { createMandate } from "@svc/domain/programs/Mandates"
import { commitmentOf } from "@svc/protocol/Commitment"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Effect, Layer } from "effect"

/** What the programs below ask for. Another store is another layer here. */
export const ports = Layer.mergeAll(
  MemoryStore.layer,
  RandomnessNodeCrypto.layer,
  TimeZonesIntl.layer,
  Layer.succeed(Deployment, {
    environment: "test",
    baseUrl: "http://localhost:8080",
    approvalBaseUrl: "http://localhost:8081",
    approvalOrigin: "http://localhost:8081",
    rpId: "localhost",
    localhostReturnOrigins: true
  })
)

const organization: Organization = {
  id: "org_01jdxxxxxxxxxxxxxxxxxxxxxx",
  environment: "test",
  name: "Example",
  returnOrigins: ["https://example.com"],
  reportGraceSeconds: 0,
  passkeyEnrolment: "FIRST_USE"
}

/** Proposes an action under a mandate that nobody has approved yet: the decision is DENY. */
export const proposeTooEarly = Effect.gen(function* () {
  const mandate = yield* createMandate({
    organization,
    idempotencyKey: "mandate-1",
    body: {
      kind: "SINGLE",
      subject_reference: "user_1",
      policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
      window: { ends_at: "2030-01-01T00:00:00Z" }
    }
  })
  const authorization = yield* proposeAuthorization({
    organization,
    idempotencyKey: "order-1",
    mandateId: mandate.resource.id,
    body: {
      external_reference: "order-1",
      proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
      execution_window_seconds: 900,
      commitment: commitmentOf(new Uint8Array(32))
    }
  })
  return authorization.resource
})
