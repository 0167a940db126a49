import { randomUUID } from "node:crypto"
import { type Authorization, type CommitmentPair, createCommitment, type OrganizationFace } from "svc"

export interface Purchase {
  /** Who buys: the mandate must be theirs. */
  readonly customer: string
  readonly mandate: string
  /** The shop's own number of the order. */
  readonly order: string
  /** In cents. */
  readonly amount: number
}

/** Has a payment provider pay, and tells what it calls the payment and when it accepted it. Rejects if it does not. */
export type Pay = (reference: string, amount: number) => Promise<{ transaction: string; acceptedAt: string }>

interface Attempt {
  readonly idempotencyKey: string
  readonly commitment: Promise<CommitmentPair>
}

/** What an order is proposed with, each time the same until it is refused. A real shop keeps it with its orders. */
const attempts = new Map<string, Attempt>()

const attemptOf = (order: string): Attempt => {
  const attempt = attempts.get(order) ?? {
    idempotencyKey: `propose-${order}-${randomUUID()}`,
    commitment: createCommitment()
  }
  attempts.set(order, attempt)
  return attempt
}

/**
 * Pays for an order if its mandate allows it, and reports the payment; repeated, it pays once. What became of a payment that
 * failed has to be asked of the provider first: the authorization is then as it was before. `undefined`: the mandate is
 * somebody else's.
 */
export const purchase = async (
  shop: OrganizationFace,
  { amount, customer, mandate, order }: Purchase,
  pay: Pay
): Promise<Authorization | undefined> => {
  const { subject_reference: owner } = await shop.mandates.get(mandate)
  if (owner !== customer) return undefined
  const { commitment: made, idempotencyKey } = attemptOf(order)
  const { commitment, opening } = await made
  const authorization = await shop.authorizations.propose(
    mandate,
    {
      external_reference: order,
      proposed_action: { action: "order.place", payment: { amount, currency: "EUR" } },
      execution_window_seconds: 300,
      commitment
    },
    { idempotencyKey }
  )
  // A refusal stands; what is asked later, when more is approved for example, is another question.
  if (authorization.decision !== "ALLOW") attempts.delete(order)
  if (!authorization.can_execute) return authorization
  const execution = await shop.execute(
    authorization,
    async ({ externalActionReference }) => {
      const { acceptedAt, transaction } = await pay(externalActionReference, amount)
      return {
        outcome: "accepted",
        provider_transaction_reference: transaction,
        reported_accepted_at: acceptedAt
      }
    },
    { opening }
  )
  return execution.authorization
}
