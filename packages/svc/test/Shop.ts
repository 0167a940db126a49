import { approveOnPage } from "@svc/testkit/ApproveOnPage"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import type { OrganizationFace, ServiceOptions } from "../src/index.ts"
import { createCommitment, newOrganizationId } from "../src/index.ts"
import { memory } from "../src/memory.ts"

export const RETURN_ORIGIN = "https://shop.example"

/** An organization with an identity provider, and options of a service that knows it. */
export const makeShop = (options: Partial<ServiceOptions> = {}) => {
  const id = newOrganizationId()
  const issuer = makeIdentityIssuer({ issuer: "https://id.shop.example", audience: "svc" })
  const serviceOptions: ServiceOptions = {
    environment: "test",
    baseUrl: "http://localhost:3000/mandates",
    approvalUrl: "http://localhost:3000/approvals",
    store: memory(),
    logger: () => undefined,
    organizations: [
      {
        id,
        name: "Shop",
        returnOrigins: [RETURN_ORIGIN],
        identity: {
          issuer: issuer.issuer,
          audience: issuer.audience,
          algorithms: ["ES256"],
          keys: { jwks: issuer.publicJwks }
        }
      }
    ],
    ...options
  }
  const assertion = (subject: string) => issuer.assertion({ subject, now: BigInt(Date.now()) * 1_000_000n })
  return { id, serviceOptions, assertion }
}

type Shop = ReturnType<typeof makeShop>

export const newMandate = (subject: string) => ({
  kind: "SINGLE" as const,
  subject_reference: subject,
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
  window: { ends_at: new Date(Date.now() + 86_400_000).toISOString() }
})

/** A mandate that a new end user has approved on the page. */
export const approvedMandate = async (
  shop: Shop,
  face: OrganizationFace,
  send: (request: Request) => Promise<Response>
): Promise<string> => {
  const subject = `user_${crypto.randomUUID()}`
  const mandate = await face.mandates.create(newMandate(subject))
  const session = await face.mandates.openApproval(mandate.id, {
    identity_assertion: await shop.assertion(subject),
    return_url: `${RETURN_ORIGIN}/approved`,
    return_state: "unpredictable-0001"
  })
  await approveOnPage(session.approval_url ?? "", send)
  return mandate.id
}

/** A proposal, and the opening of its commitment. */
export const newProposal = async (amount = 4200) => {
  const { commitment, opening } = await createCommitment()
  return {
    opening,
    proposal: {
      external_reference: "order-1",
      proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } },
      execution_window_seconds: 900,
      commitment
    }
  }
}

export const commitReport = (opening: string) => ({
  external_action_reference: "order-1",
  provider_transaction_reference: "txn_7001",
  reported_accepted_at: new Date().toISOString(),
  commitment_opening: opening
})
