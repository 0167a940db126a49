import assert from "node:assert/strict"
import { test } from "node:test"
import { createService, newOrganizationId } from "svc"
import { storeFromPromises } from "svc/store"
import { storeContract, testService } from "svc/testkit"
import { checkLifecycle, checkLinearizability } from "svc/testkit/properties"
import { makeMapStore } from "./MapStore.ts"

storeContract("MapStore", ({ now }) => makeMapStore(now), {
  report: ({ conforms, ports }) => {
    assert.ok(conforms)
    assert.equal(ports.MandateStore?.failed, 0)
  }
})

test("mandates live on the store as the interface says, whatever happens", async () => {
  const service = () => testService({ store: ({ now }) => makeMapStore(now), webhooks: false })
  const { steps } = await checkLifecycle(service, { numRuns: 5 })
  assert.ok(steps > 0)
})

/** Two services over one store, as in two processes, which are called in turn. */
const twoServices = async () => {
  const now = "2026-03-28T12:00:00Z"
  const shared = makeMapStore(() => BigInt(Date.parse(now)) * 1_000_000n)
  const organizations = [{ id: newOrganizationId(), name: "Shop", returnOrigins: ["http://localhost:3000"] }]
  const options = { now, store: () => shared, organizations, webhooks: false }
  const [one, other] = [await testService(options), await testService(options)]
  let requests = 0
  const fetch = (request: Request) => (requests++ % 2 === 0 ? one : other).fetch(request)
  const close = async () => {
    await one.close()
    await other.close()
  }
  return { ...one, fetch, close }
}

test("writes of two services meet in the store as if one came after the other", async () => {
  const { answers } = await checkLinearizability(twoServices, { numRuns: 10 })
  assert.ok(answers["propose: RESERVED"])
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
