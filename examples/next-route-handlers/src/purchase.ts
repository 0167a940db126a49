import { randomUUID } from "node:crypto"
import { type Authorization, createCommitment } from "svc"
import { shop } from "./service.ts"

export interface Purchase {
  readonly mandate: string
  /** The shop's own number of the order. */
  readonly order: string
  /** In cents. */
  readonly amount: number
}

/** Stands for a payment provider: one that is real knows a payment by its reference, and makes it once. */
const pay = async (_reference: string, _amount: number) => ({
  transaction: `txn_${randomUUID()}`,
  acceptedAt: new Date().toISOString()
})

/**
 * Pays for an order if its mandate allows it, and reports the payment. What became of a payment that failed has to be asked
 * of the provider first, so it is neither reported nor cancelled here.
 */
export const purchase = async ({ amount, mandate, order }: Purchase): Promise<Authorization> => {
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
