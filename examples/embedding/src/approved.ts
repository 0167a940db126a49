import { createService, newOrganizationId, type ServiceOptions } from "svc"
import { approveOnPage } from "svc/testkit"

/** A service on this store, and mandates of EUR 50, each approved by an end user of its own with a software passkey. */
export const approvedShop = async (options: Pick<ServiceOptions, "store"> & Partial<ServiceOptions>) => {
  const id = newOrganizationId()
  const service = createService({
    environment: "test",
    baseUrl: "http://localhost:3000/mandates",
    approvalUrl: "http://localhost:3000/approvals",
    organizations: [{ id, name: "Shop", returnOrigins: ["http://localhost:3000"] }],
    identify: async (assertion) => ({ subject: assertion, jti: crypto.randomUUID() }),
    ...options
  })
  const shop = service.forOrganization(id)
  const newMandate = async () => {
    const user = `user_${crypto.randomUUID()}`
    const mandate = await shop.mandates.create({
      kind: "SINGLE",
      subject_reference: user,
      policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
      window: { ends_at: new Date(Date.now() + 86_400_000).toISOString() }
    })
    const session = await shop.mandates.openApproval(mandate.id, {
      identity_assertion: user,
      return_url: "http://localhost:3000/back",
      return_state: crypto.randomUUID()
    })
    await approveOnPage(session.approval_url ?? "", service.fetch)
    return shop.mandates.get(mandate.id)
  }
  return { id, service, shop, newMandate, mandate: await newMandate() }
}
