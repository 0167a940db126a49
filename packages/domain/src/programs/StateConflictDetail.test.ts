import { assert, describe, it } from "@effect/vitest"
import { StateConflict } from "../Refusals.ts"
import { problemOfRefusal } from "./RefusalProblem.ts"

const SUFFIX = "01jdxxxxxxxxxxxxxxxxxxxxxx"

describe("stateConflictDetail (part 2)", () => {
  it("explains every state of an endpoint and a delivery, with the remedy", () => {
    for (const [prefix, currentState, ...texts] of [
      ["whe_", "disabled", "is disabled", "PUT /v1/webhook-endpoints/{webhook_endpoint_id}/reactivation"],
      ["whe_", "deleted", "is deleted", "Register another"],
      ["dlv_", "pending", "has not ended", "Wait until"],
      ["dlv_", "frozen", "waits until its webhook endpoint", "/reactivation"],
      ["dlv_", "cancelled", "is never sent", "GET /v1/events"]
    ] as const) {
      const resourceId = `${prefix}${SUFFIX}`
      const { code, detail, ...rest } = problemOfRefusal(new StateConflict({ currentState, resourceId }))
      assert.strictEqual(code, "state_conflict")
      assert.deepInclude(rest, { currentState, resourceId })
      for (const text of texts) assert.include(detail, text, `${prefix} ${currentState}`)
    }
  })

  it("leaves a mandate to the general cause of the problem", () => {
    const resourceId = `mnd_${SUFFIX}`
    for (const currentState of ["EXPIRED", "disabled", "constructor"]) {
      assert.isUndefined(problemOfRefusal(new StateConflict({ currentState, resourceId })).detail)
    }
    const unknown = new StateConflict({ currentState: "constructor", resourceId: `whe_${SUFFIX}` })
    assert.isUndefined(problemOfRefusal(unknown).detail)
  })
})
