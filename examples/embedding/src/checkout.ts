import { type OrganizationFace, SvcError } from "svc"

/** Charges an order within a mandate, if the mandate allows it. `charge` asks the shop's own payment provider. */
export const charge = async (
  shop: OrganizationFace,
  order: { readonly mandate: string; readonly id: string; readonly amount: number },
  commitment: { readonly commitment: string; readonly opening: string },
  run: () => Promise<{ readonly transaction: string; readonly acceptedAt: string }>
) => {
  const authorization = await shop.authorizations.propose(
    order.mandate,
    {
      external_reference: order.id,
      proposed_action: { action: "card.create", payment: { amount: order.amount, currency: "EUR" } },
      execution_window_seconds: 300,
      commitment: commitment.commitment
    },
    { idempotencyKey: `propose-${order.id}` }
  )
  if (!authorization.can_execute) return authorization
  const { acceptedAt, transaction } = await run()
  return shop.authorizations.commit(
    authorization.id,
    {
      external_action_reference: order.id,
      provider_transaction_reference: transaction,
      reported_accepted_at: acceptedAt,
      commitment_opening: commitment.opening
    },
    { idempotencyKey: `commit-${order.id}` }
  )
}

/** Why a call was refused, for the shop's log. */
export const reasonOf = (error: unknown): string =>
  error instanceof SvcError ? `${error.code}: ${error.message}` : "not a refusal"
