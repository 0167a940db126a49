import assert from "node:assert/strict"
import { test } from "node:test"
import { verifyWebhook } from "@svc/client"
import { testService } from "svc/testkit"
import { chargeMonth, newSubscription } from "./Subscriptions.ts"

test("a subscription is charged once a month by the clock of Berlin, and not after its end", async () => {
  const service = await testService({ now: "2026-01-31T22:59:00Z" })
  const shop = service.forOrganization(service.organization)
  const mandate = await newSubscription(shop, "user_1", service.clock.after({ months: 3 }))
  await service.approve(mandate)
  const charge = async (name: string) =>
    (await chargeMonth(shop, mandate.id, { name, amount: 4000, now: service.clock.now() })).state

  assert.equal(await charge("january"), "COMMITTED")
  assert.equal(await charge("january-again"), "DENIED")
  await service.clock.advance({ minutes: 1 })
  assert.equal(await charge("february"), "COMMITTED")
  await service.clock.advance({ months: 3, days: 1 }, { timeZone: "Europe/Berlin" })
  await service.webhooks.next("mandate.expired")
  assert.equal(await charge("may"), "DENIED")
  await service.close()
})

test("the shop's own handler is tried again until it has verified and taken a webhook", async () => {
  const taken: Array<string> = []
  const service = await testService({
    receive: async (request) => {
      const now = Date.parse(service.clock.now()) / 1000
      const body = await request.text()
      const event = await verifyWebhook({
        secrets: [service.webhooks.secret ?? ""],
        headers: request.headers,
        body,
        now
      })
      if (taken.length === 0 && service.clock.now() === start) return new Response(null, { status: 503 })
      taken.push(event.type)
      return new Response(null, { status: 204 })
    }
  })
  const start = service.clock.now()
  const shop = service.forOrganization(service.organization)
  await newSubscription(shop, "user_1", service.clock.after({ months: 3 }))
  assert.equal((await service.webhooks.next("mandate.created")).status, 503)
  await service.clock.advance({ hours: 1 })
  assert.equal((await service.webhooks.next("mandate.created")).status, 204)
  assert.deepEqual(taken, ["mandate.created"])
  await service.close()
})
