import { createCommitment, type OrganizationFace } from "svc"

/** What a team tests: it charges a subscription within the mandate of its end user. */
export const chargeMonth = async (
  shop: OrganizationFace,
  mandate: string,
  month: { readonly name: string; readonly amount: number; readonly now: string }
) => {
  const { commitment, opening } = await createCommitment()
  const authorization = await shop.authorizations.propose(
    mandate,
    {
      external_reference: month.name,
      proposed_action: { action: "subscription.charge", payment: { amount: month.amount, currency: "EUR" } },
      execution_window_seconds: 900,
      commitment
    },
    { idempotencyKey: `propose-${month.name}` }
  )
  if (!authorization.can_execute) return authorization
  return shop.authorizations.commit(
    authorization.id,
    {
      external_action_reference: month.name,
      provider_transaction_reference: `charge of ${month.name}`,
      reported_accepted_at: month.now,
      commitment_opening: opening
    },
    { idempotencyKey: `commit-${month.name}` }
  )
}

/** A mandate of EUR 50 a month, for a year. */
export const newSubscription = (shop: OrganizationFace, subject: string, endsAt: string) =>
  shop.mandates.create({
    kind: "RECURRING",
    subject_reference: subject,
    policy: {
      currency: "EUR",
      max_amount: 5000,
      allowed_actions: ["subscription.charge"],
      periods: [{ unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 5000 }]
    },
    window: { ends_at: endsAt }
  })
