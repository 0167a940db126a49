import { randomUUID } from "node:crypto"
import { ORIGIN, sessions, shop } from "../../service.ts"

const DAY_MS = 86_400_000

/** The customer allows a purchase up to an amount in cents: answers where to approve that. */
export const POST = async (request: Request): Promise<Response> => {
  const { max_amount, session } = (await request.json()) as { max_amount: number; session: string }
  const customer = sessions.get(session)
  if (customer === undefined) return Response.json({ error: "nobody is logged in" }, { status: 401 })
  const mandate = await shop.mandates.create({
    kind: "SINGLE",
    subject_reference: customer,
    policy: { currency: "EUR", max_amount, allowed_actions: ["order.place"] },
    window: { ends_at: new Date(Date.now() + 30 * DAY_MS).toISOString() }
  })
  const { approval_url } = await shop.mandates.openApproval(mandate.id, {
    identity_assertion: session,
    return_url: `${ORIGIN}/`,
    return_state: randomUUID()
  })
  return Response.json({ mandate: mandate.id, approval_url }, { status: 201 })
}
