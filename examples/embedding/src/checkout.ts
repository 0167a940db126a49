import type { Execution, OrganizationFace, Run, RunOutcome } from "svc"

/** An order, which the shop keeps with the commitment that `await createCommitment()` made for it. */
export interface Order {
  readonly id: string
  readonly mandate: string
  readonly amount: number
  readonly commitment: string
  readonly opening: string
}

/** Charges an order if its mandate allows it; may be called again, after a crash for instance. */
export const charge = async (
  shop: OrganizationFace,
  order: Order,
  pay: (run: Run) => Promise<RunOutcome>
): Promise<Execution["outcome"] | "not allowed"> => {
  const authorization = await shop.authorizations.propose(
    order.mandate,
    {
      external_reference: order.id,
      proposed_action: { action: "card.create", payment: { amount: order.amount, currency: "EUR" } },
      execution_window_seconds: 300,
      commitment: order.commitment
    },
    { idempotencyKey: `propose-${order.id}` }
  )
  if (authorization.state === "COMMITTED") return "committed"
  if (!authorization.can_execute) return "not allowed"
  const { outcome } = await shop.execute(authorization, pay, { opening: order.opening })
  return outcome
}
