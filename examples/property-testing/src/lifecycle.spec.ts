import assert from "node:assert/strict"
import { test } from "node:test"
import { testService } from "svc/testkit"
import { checkLifecycle } from "svc/testkit/properties"

test("nothing may be executed for more than the end user allowed, whatever happens", async () => {
  const statistics = await checkLifecycle(() => testService({ webhooks: false }), {
    numRuns: 5,
    invariants: [
      ({ authorizations, mandate }) => {
        for (const { can_execute: canExecute, proposed_action: action } of authorizations)
          assert.ok(!canExecute || action.payment.amount <= mandate.policy.max_amount)
      }
    ]
  })
  assert.equal(statistics.runs, 5)
  assert.ok(statistics.transitions["mandate nothing > PENDING_APPROVAL"])
})
