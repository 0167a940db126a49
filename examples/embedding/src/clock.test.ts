import { assert, it } from "@effect/vitest"
import { createCommitment } from "svc"
import { testService } from "svc/testkit"
import { charge } from "./checkout.ts"

it("charges an order within the mandate's window, and none after it", async () => {
  const service = await testService({ now: "2026-03-01T12:00:00Z" })
  const shop = service.forOrganization(service.organization)
  const mandate = await shop.mandates.create({
    kind: "RECURRING",
    subject_reference: "user_1",
    policy: {
      currency: "EUR",
      max_amount: 5000,
      allowed_actions: ["card.create"],
      periods: [{ unit: "MONTH", max_executions: 1 }]
    },
    window: { ends_at: service.clock.after({ months: 1 }) }
  })
  await service.approve(mandate)
  const chargeOnce = async (id: string) =>
    charge(shop, { id, mandate: mandate.id, amount: 4200, ...(await createCommitment()) }, async () => ({
      outcome: "accepted",
      provider_transaction_reference: `txn-${id}`
    }))
  assert.strictEqual(await chargeOnce("order-1"), "committed")
  await service.clock.advance({ months: 1 })
  await service.webhooks.next("mandate.expired")
  assert.strictEqual(await chargeOnce("order-2"), "not allowed")
  await service.close()
})
