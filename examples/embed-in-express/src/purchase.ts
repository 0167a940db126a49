import { type Authorization, createCommitment, type OrganizationFace } from "svc"

export interface Purchase {
  readonly mandate: string
  /** The shop's own number of the order. */
  readonly order: string
  /** In cents. */
  readonly amount: number
}

/** Has a payment provider pay, and tells what it calls the payment and when it accepted it. Rejects if it does not. */
export type Pay = (reference: string, amount: number) => Promise<{ transaction: string; acceptedAt: string }>

/**
 * Pays for an order if its mandate allows it, and reports the payment. What became of a payment that failed has to be asked
 * of the provider first, so it is neither reported nor cancelled here.
 */
export const purchase = async (
  shop: OrganizationFace,
  { amount, mandate, order }: Purchase,
  pay: Pay
): Promise<Authorization> => {
  const { commitment, opening } = await createCommitment()
  const authorization = await shop.authorizations.propose(
    mandate,
    {
      external_reference: order,
      proposed_action: { action: "order.place", payment: { amount, currency: "EUR" } },
      execution_window_seconds: 300,
      commitment
    },
    { idempotencyKey: `propose-${order}` }
  )
  if (!authorization.can_execute) return authorization
  const { acceptedAt, transaction } = await pay(authorization.id, amount)
  return shop.authorizations.commit(authorization.id, {
    external_action_reference: authorization.id,
    provider_transaction_reference: transaction,
    reported_accepted_at: acceptedAt,
    commitment_opening: opening
  })
}
