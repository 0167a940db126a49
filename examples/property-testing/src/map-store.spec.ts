import assert from "node:assert/strict"
import { test } from "node:test"
import { createService, newOrganizationId } from "svc"
import { storeFromPromises } from "svc/store"
import { storeContract } from "svc/testkit"
import { makeMapStore } from "./MapStore.ts"

storeContract("MapStore", ({ now }) => makeMapStore(now), {
  report: ({ conforms, ports }) => {
    assert.ok(conforms)
    assert.equal(ports.MandateStore?.failed, 0)
  }
})

const hostClock = () => BigInt(Date.now()) * 1_000_000n

test("a service runs on the store", async () => {
  const organization = newOrganizationId()
  const service = createService({
    environment: "test",
    baseUrl: "http://localhost:3000/mandates",
    approvalUrl: "http://localhost:3000/approvals",
    store: storeFromPromises(() => makeMapStore(hostClock)),
    organizations: [{ id: organization, name: "Shop", returnOrigins: ["http://localhost:3000"] }]
  })
  assert.deepEqual((await service.forOrganization(organization).mandates.list()).data, [])
  await service.close()
})
