import { assert, describe, it } from "@effect/vitest"
import { causesOf, PROBLEM_CODES, PROBLEMS, problemPath, repetitionOf } from "./Problem.ts"

/** Every code by its status (part 2). */
const BY_STATUS: Readonly<Record<number, string>> = {
  400: "malformed_json malformed_request idempotency_key_required idempotency_key_invalid invalid_cursor",
  401: "authentication_required api_key_invalid",
  403: "scope_insufficient billing_account_required origin_not_allowed",
  404: "not_found",
  405: "method_not_allowed",
  406: "not_acceptable",
  408: "request_timeout",
  409: "idempotency_key_reused terminal_state_conflict state_conflict commitment_reused assertion_replayed mandate_limit_reached webhook_endpoint_limit_reached approval_session_bound",
  410: "approval_session_closed",
  413: "payload_too_large",
  415: "unsupported_media_type",
  417: "expectation_failed",
  422: "validation_failed enrolment_not_allowed commitment_mismatch identity_assertion_invalid subject_mismatch return_url_not_allowed webhook_target_not_allowed passkey_verification_failed refund_exceeds_committed",
  429: "rate_limited",
  431: "headers_too_large",
  500: "internal_error",
  503: "store_unavailable"
}

describe("the problem codes (part 2)", () => {
  it("have these statuses", () => {
    const found = Object.groupBy(PROBLEM_CODES, (code) => PROBLEMS[code].status)
    const expected = Object.entries(BY_STATUS).map(([status, codes]) => [status, codes.split(" ").toSorted()])
    const sorted = Object.entries(found).map(([status, codes]) => [status, codes?.toSorted()])
    assert.deepStrictEqual(Object.fromEntries(sorted), Object.fromEntries(expected))
  })

  it("may be retried when time alone can help", () => {
    assert.deepStrictEqual(
      PROBLEM_CODES.filter((code) => repetitionOf(code) === "may be retried"),
      ["request_timeout", "rate_limited", "internal_error", "store_unavailable"]
    )
    assert.strictEqual(repetitionOf("not_found"), "do not retry unchanged")
  })

  it("have a page each, named with hyphens", () => {
    assert.strictEqual(problemPath("idempotency_key_reused"), "/problems/idempotency-key-reused")
  })

  it("say every cause that they have", () => {
    assert.strictEqual(causesOf("not_found"), PROBLEMS.not_found.cause)
    const { cause, otherCause } = PROBLEMS.invalid_cursor
    assert.strictEqual(causesOf("invalid_cursor"), `${cause} ${otherCause}`)
  })
})
