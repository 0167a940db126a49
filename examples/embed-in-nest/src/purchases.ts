import { randomUUID } from "node:crypto"
import { Inject, Injectable } from "@nestjs/common"
import {
  type Authorization,
  type CommitmentPair,
  createCommitment,
  type OrganizationFace,
  type Service
} from "svc"
import { ORIGIN, SHOP } from "./service.ts"
import { SERVICE } from "./svc.module.ts"

const DAY_MS = 86_400_000

export interface Purchase {
  /** Who buys: the mandate must be theirs. */
  readonly customer: string
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

@Injectable()
export class Purchases {
  private readonly shop: OrganizationFace

  constructor(@Inject(SERVICE) service: Service) {
    this.shop = service.forOrganization(SHOP)
  }

  /** A mandate for one purchase of up to an amount in cents, and where the customer approves it. */
  async allow(customer: string, session: string, maxAmount: number) {
    const mandate = await this.shop.mandates.create({
      kind: "SINGLE",
      subject_reference: customer,
      policy: { currency: "EUR", max_amount: maxAmount, allowed_actions: ["order.place"] },
      window: { ends_at: new Date(Date.now() + 30 * DAY_MS).toISOString() }
    })
    const { approval_url } = await this.shop.mandates.openApproval(mandate.id, {
      identity_assertion: session,
      return_url: `${ORIGIN}/`,
      return_state: randomUUID()
    })
    return { mandate: mandate.id, approval_url }
  }

  /**
   * Pays for an order if its mandate allows it, and reports the payment; repeated, it pays once. What became of a payment that
   * failed has to be asked of the provider first: the authorization is then as it was before. `undefined`: the mandate is
   * somebody else's.
   */
  async purchase({ amount, customer, mandate, order }: Purchase): Promise<Authorization | undefined> {
    const { subject_reference: owner } = await this.shop.mandates.get(mandate)
    if (owner !== customer) return undefined
    const { commitment: made, idempotencyKey } = attemptOf(order)
    const { commitment, opening } = await made
    const authorization = await this.shop.authorizations.propose(
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
    const execution = await this.shop.execute(
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
}
