import assert from "node:assert/strict"
import { test } from "node:test"
import * as fc from "fast-check"
import { hostileRequests, testService } from "svc/testkit"
import { checkLinearizability, clockTimes, mandateInputs, proposalInputs } from "svc/testkit/properties"

test("callers at once are answered as if one came after the other", async () => {
  const { answers } = await checkLinearizability(() => testService({ webhooks: false }), { numRuns: 10 })
  assert.ok(answers["propose: RESERVED"])
})

test("an action is allowed by what the end user saw, at whatever time", async () => {
  const cases = clockTimes.chain(({ now }) =>
    mandateInputs({ now }).chain((mandate) =>
      proposalInputs(mandate.policy).map(({ body }) => ({ now, mandate, body }))
    )
  )
  const property = fc.asyncProperty(cases, async ({ now, mandate, body }) => {
    const service = await testService({ now, webhooks: false })
    const shop = service.forOrganization(service.organization)
    const { id } = await shop.mandates.create(mandate)
    await service.approve(id)
    const { decision, proposed_action: action } = await shop.authorizations.propose(id, body)
    assert.ok(decision !== "ALLOW" || action.payment.amount <= mandate.policy.max_amount)
    await service.close()
  })
  await fc.assert(property, { numRuns: 10 })
})

test("what stands in front of the service lets every refusal through", async () => {
  const service = await testService({ webhooks: false })
  const { key: apiKey } = await service.createApiKey(service.organization)
  for (const { code, request, wrong } of hostileRequests({ url: "http://localhost:3000/mandates", apiKey })) {
    const problem = await (await service.fetch(request())).json()
    assert.equal(problem.code, code, wrong)
  }
  await service.close()
})
