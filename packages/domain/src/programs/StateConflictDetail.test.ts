import { assert, describe, it } from "@effect/vitest"
import { StateConflict, TerminalStateConflict } from "../Refusals.ts"
import { problemOfRefusal } from "./RefusalProblem.ts"

const SUFFIX = "01jdxxxxxxxxxxxxxxxxxxxxxx"

describe("the detail of a state_conflict (part 2)", () => {
  it("explains every state of an endpoint and a delivery, with the remedy", () => {
    for (const [prefix, currentState, ...texts] of [
      ["whe_", "disabled", "is disabled", "PUT /v1/webhook-endpoints/{webhook_endpoint_id}/reactivation"],
      ["whe_", "deleted", "is deleted", "Register another"],
      ["dlv_", "pending", "has not ended", "Wait until"],
      ["dlv_", "frozen", "waits until its webhook endpoint", "/reactivation"],
      ["dlv_", "cancelled", "is never sent", "GET /v1/events"]
    ] as const) {
      const resourceId = `${prefix}${SUFFIX}`
      const refusal = new StateConflict({ currentState, resourceId, needed: ["active"] })
      const { code, detail, ...rest } = problemOfRefusal(refusal)
      assert.strictEqual(code, "state_conflict")
      assert.deepInclude(rest, { currentState, resourceId })
      for (const text of texts) assert.include(detail, text, `${prefix} ${currentState}`)
    }
  })

  it("names a mandate or an authorization, its state, and the states that the operation needs", () => {
    const revocable = ["PENDING_APPROVAL", "SCHEDULED", "ACTIVE"]
    for (const [prefix, currentState, needed, detail] of [
      [
        "mnd_",
        "EXPIRED",
        ["PENDING_APPROVAL"],
        "The mandate is EXPIRED. The operation needs one that is PENDING_APPROVAL."
      ],
      [
        "mnd_",
        "CONSUMED",
        revocable,
        "The mandate is CONSUMED. The operation needs one that is PENDING_APPROVAL, SCHEDULED or ACTIVE."
      ],
      [
        "mnd_",
        "REVOKED",
        revocable,
        "The mandate is REVOKED already, for another reason. The operation needs one that is PENDING_APPROVAL, SCHEDULED or ACTIVE."
      ],
      [
        "mnd_",
        "REVOKED",
        ["PENDING_APPROVAL"],
        "The mandate is REVOKED. The operation needs one that is PENDING_APPROVAL."
      ],
      [
        "aut_",
        "RESERVED",
        ["COMMITTED"],
        "The authorization is RESERVED. The operation needs one that is COMMITTED."
      ],
      [
        "whe_",
        "constructor",
        ["active", "disabled"],
        "The webhook endpoint is constructor. The operation needs one that is active or disabled."
      ]
    ] as const) {
      const refusal = new StateConflict({ currentState, resourceId: `${prefix}${SUFFIX}`, needed })
      assert.strictEqual(problemOfRefusal(refusal).detail, detail)
    }
  })
})

describe("the detail of a terminal_state_conflict (part 2)", () => {
  it("names the state on record", () => {
    const resourceId = `aut_${SUFFIX}`
    const refusal = new TerminalStateConflict({ currentState: "CANCELLED", resourceId })
    assert.deepStrictEqual(problemOfRefusal(refusal), {
      code: "terminal_state_conflict",
      currentState: "CANCELLED",
      resourceId,
      detail: "The authorization is CANCELLED, which is final, and this report says otherwise."
    })
  })
})
