import { randomUUID } from "node:crypto"
import { Inject, Injectable } from "@nestjs/common"
import { createCommitment, type OrganizationFace, type Service } from "svc"
import { ORIGIN, SHOP } from "./service.ts"
import { SERVICE } from "./svc.module.ts"

const DAY_MS = 86_400_000

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
   * Pays for an order if its mandate allows it, and reports the payment. What became of a payment that failed has to be asked
   * of the provider first, so it is neither reported nor cancelled here.
   */
  async purchase({ amount, mandate, order }: Purchase) {
    const { commitment, opening } = await createCommitment()
    const authorization = await this.shop.authorizations.propose(
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
    return this.shop.authorizations.commit(authorization.id, {
      external_action_reference: authorization.id,
      provider_transaction_reference: transaction,
      reported_accepted_at: acceptedAt,
      commitment_opening: opening
    })
  }
}
