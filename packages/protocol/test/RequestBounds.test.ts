import { assert, describe, it } from "@effect/vitest"
import { Result, type Schema } from "effect"
import { CreateApprovalSessionBody } from "../src/ApprovalSession.ts"
import { CancellationBody, CommitBody, CreateAuthorizationBody, RefundBody } from "../src/Authorization.ts"
import { REQUEST_EXAMPLES } from "../src/api/RequestExamples.ts"
import { JournalEventType } from "../src/Journal.ts"
import type { JsonValue } from "../src/json/Json.ts"
import { CreateMandateBody, RevokeMandateBody } from "../src/Mandate.ts"
import { decodeBody } from "../src/request/DecodeBody.ts"
import { CreateWebhookEndpointBody } from "../src/webhook/WebhookEndpoint.ts"

const BODIES: Readonly<Record<string, Schema.Decoder<unknown>>> = {
  createMandate: CreateMandateBody,
  revokeMandate: RevokeMandateBody,
  createApprovalSession: CreateApprovalSessionBody,
  createAuthorization: CreateAuthorizationBody,
  commitAuthorization: CommitBody,
  cancelAuthorization: CancellationBody,
  reportRefund: RefundBody,
  createWebhookEndpoint: CreateWebhookEndpointBody
}

/** The example of an operation with another value at the end of the path, whose steps are made where they are missing. */
const withValue = (value: unknown, [step, ...rest]: ReadonlyArray<string>, other: unknown): unknown => {
  if (step === undefined) return other
  if (Array.isArray(value)) return value.with(Number(step), withValue(value[Number(step)], rest, other))
  const members = (value ?? {}) as Readonly<Record<string, unknown>>
  return { ...members, [step]: withValue(members[step], rest, other) }
}

const faultsOf = (operation: string, pointer: string, value: unknown): ReadonlyArray<string> => {
  const body = withValue(REQUEST_EXAMPLES[operation], pointer.split("/").slice(1), value)
  const decoded = decodeBody(BODIES[operation]!)(body as JsonValue)
  return Result.isSuccess(decoded) ? [] : decoded.failure.map((fault) => fault.pointer)
}

interface Bound {
  readonly accepted: ReadonlyArray<unknown>
  readonly refused: ReadonlyArray<unknown>
}

/** Code points of two UTF-16 units each, so that neither units nor bytes pass for characters. */
const ofCharacters = (count: number): string => "\u{1f600}".repeat(count)

const characters = (least: number, most: number): Bound => ({
  accepted: [ofCharacters(least), ofCharacters(most)],
  refused: [ofCharacters(least - 1), ofCharacters(most + 1), "a\u0000".repeat(least), 1]
})

const integer = (least: number, most: number): Bound => ({
  accepted: [least, most],
  refused: [least - 1, most + 1, least + 0.5, String(least)]
})

const entries = (least: number, most: number, entry: (index: number) => unknown): Bound => {
  const list = (length: number) => Array.from({ length }, (_, index) => entry(index))
  return {
    accepted: [list(least), list(most)],
    refused: [...(least === 0 ? [] : [list(least - 1)]), list(most + 1)]
  }
}

const oneOf = (...accepted: ReadonlyArray<string>): Bound => ({
  accepted,
  refused: [...accepted.map((one) => one.toLowerCase()), ""].filter((one) => !accepted.includes(one))
})

const MONEY = integer(1, 2 ** 53 - 1)
const COUNT = integer(1, 2 ** 53 - 1)
const REFERENCE = characters(1, 255)
const CURRENCY: Bound = {
  accepted: ["EUR", "ZZZ"],
  refused: ["eur", "EU", "EURO", "EU1", " EUR", "EUR\n", ""]
}
const TIMESTAMP: Bound = {
  accepted: ["2000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"],
  refused: ["1999-12-31T23:59:59Z", "2026-02-29T00:00:00Z", "2026-12-01T00:00:00+00:00", "2026-12-01"]
}
const THIRTY_TWO_BYTES: Bound = {
  accepted: ["A".repeat(43), `${"_".repeat(42)}8`],
  refused: ["A".repeat(42), "A".repeat(44), `${"A".repeat(42)}B`, `${"A".repeat(43)}=`]
}

const name = (index: number): string => `n${index}`

const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), "v"]))

/** Of each member of a request that has bounds, what is just within them and just outside (parts 1, 4, 5, 6 and 8). */
const BOUNDS: ReadonlyArray<readonly [operation: string, pointer: string, bound: Bound]> = [
  ["createMandate", "/kind", oneOf("SINGLE", "RECURRING")],
  ["createMandate", "/subject_reference", REFERENCE],
  ["createMandate", "/description", REFERENCE],
  ["createMandate", "/approval_deadline", TIMESTAMP],
  ["createMandate", "/window/starts_at", TIMESTAMP],
  ["createMandate", "/window/ends_at", TIMESTAMP],
  ["createMandate", "/policy/currency", CURRENCY],
  ["createMandate", "/policy/max_amount", MONEY],
  ["createMandate", "/policy/min_amount", MONEY],
  ["createMandate", "/policy/max_total_amount", MONEY],
  ["createMandate", "/policy/max_executions", COUNT],
  ["createMandate", "/policy/allowed_actions", entries(1, 50, name)],
  ["createMandate", "/policy/allowed_actions/0", REFERENCE],
  ["createMandate", "/policy/allowed_merchants", entries(1, 100, name)],
  ["createMandate", "/policy/allowed_merchants/0", REFERENCE],
  ["createMandate", "/policy/attribute_rules", entries(0, 20, (at) => ({ name: name(at), in: ["v"] }))],
  ["createMandate", "/policy/periods", entries(1, 5, (at) => ({ unit: "DAY", max_amount: at + 1 }))],
  ["createMandate", "/policy/periods/0/unit", oneOf("DAY", "WEEK", "MONTH", "YEAR")],
  ["createMandate", "/policy/periods/0/interval", integer(1, 366)],
  ["createMandate", "/policy/periods/0/alignment", oneOf("CALENDAR", "MANDATE")],
  ["createMandate", "/policy/periods/0/time_zone", REFERENCE],
  ["createMandate", "/policy/periods/0/first_period", oneOf("FULL", "PRORATED")],
  ["createMandate", "/policy/periods/0/max_amount", MONEY],
  ["createMandate", "/policy/periods/0/max_executions", COUNT],
  ["revokeMandate", "/reason", characters(1, 500)],
  ["createApprovalSession", "/identity_assertion", characters(1, 16_384)],
  ["createApprovalSession", "/return_url", characters(1, 2048)],
  ["createApprovalSession", "/return_state", characters(16, 512)],
  ["createAuthorization", "/external_reference", REFERENCE],
  ["createAuthorization", "/proposed_action/action", REFERENCE],
  ["createAuthorization", "/proposed_action/attributes/merchant", REFERENCE],
  ["createAuthorization", "/proposed_action/payment/amount", MONEY],
  ["createAuthorization", "/proposed_action/payment/currency", CURRENCY],
  ["createAuthorization", "/execution_window_seconds", integer(30, 86_400)],
  ["createAuthorization", "/commitment", THIRTY_TWO_BYTES],
  [
    "createAuthorization",
    "/proposed_action/attributes",
    { accepted: [{}, members(50)], refused: [members(51)] }
  ],
  ["commitAuthorization", "/external_action_reference", REFERENCE],
  ["commitAuthorization", "/provider_transaction_reference", REFERENCE],
  ["commitAuthorization", "/reported_accepted_at", TIMESTAMP],
  ["commitAuthorization", "/commitment_opening", THIRTY_TWO_BYTES],
  [
    "cancelAuthorization",
    "/reason",
    oneOf(
      "EXECUTION_FAILED",
      "EXECUTOR_REJECTED",
      "EXECUTOR_UNAVAILABLE",
      "USER_WITHDREW",
      "CALLER_ABORTED",
      "DUPLICATE"
    )
  ],
  ["cancelAuthorization", "/execution_disposition", oneOf("NO_LONGER_POSSIBLE", "NEVER_BECAME_POSSIBLE")],
  ["cancelAuthorization", "/external_credential_reference", REFERENCE],
  ["reportRefund", "/amount", MONEY],
  ["reportRefund", "/currency", CURRENCY],
  ["reportRefund", "/provider_refund_reference", REFERENCE],
  ["reportRefund", "/reported_refunded_at", TIMESTAMP],
  ["createWebhookEndpoint", "/url", characters(1, 2048)],
  ["createWebhookEndpoint", "/event_types", entries(1, 15, (at) => JournalEventType.literals[at % 15])],
  ["createWebhookEndpoint", "/description", REFERENCE]
]

describe("the bounds of a request", () => {
  it.each(BOUNDS)("of %s: %s", (operation, pointer, { accepted, refused }) => {
    for (const value of accepted) assert.deepStrictEqual(faultsOf(operation, pointer, value), [])
    for (const value of refused) {
      assert.deepStrictEqual(
        faultsOf(operation, pointer, value),
        [pointer],
        JSON.stringify(value).slice(0, 80)
      )
    }
  })

  it("are those of a rule's name and values, wherever it stands", () => {
    const faults = (rule: unknown) => faultsOf("createMandate", "/policy/attribute_rules", [rule])
    const { accepted, refused } = entries(1, 100, name)
    for (const values of accepted) assert.deepStrictEqual(faults({ name: ofCharacters(64), in: values }), [])
    for (const values of refused) {
      assert.deepStrictEqual(faults({ name: "n", in: values }), ["/policy/attribute_rules/0/in"])
    }
    for (const wrong of ["", ofCharacters(65)]) {
      assert.deepStrictEqual(faults({ name: wrong, in: ["v"] }), ["/policy/attribute_rules/0/name"])
    }
    assert.deepStrictEqual(faults({ name: "n", in: [""] }), ["/policy/attribute_rules/0/in/0"])
  })

  it("are those of an attribute's name, too", () => {
    const faults = (attribute: string) =>
      faultsOf("createAuthorization", "/proposed_action/attributes", { [attribute]: "v" })
    assert.deepStrictEqual(faults("a".repeat(64)), [])
    assert.deepStrictEqual(faults(ofCharacters(64)), [])
    for (const wrong of ["", "a".repeat(65), ofCharacters(65)]) assert.isNotEmpty(faults(wrong))
  })
})
