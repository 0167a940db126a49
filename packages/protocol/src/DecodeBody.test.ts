import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { CreateAuthorizationBody } from "./Authorization.ts"
import { decodeBody, emptyBodyFaults } from "./DecodeBody.ts"
import type { JsonValue } from "./Json.ts"
import { CreateMandateBody } from "./Mandate.ts"

const faults = (value: unknown) => {
  const result = decodeBody(CreateMandateBody)(value as JsonValue)
  assert.isTrue(Result.isFailure(result))
  return Result.isFailure(result) ? result.failure : []
}

describe("decodeBody", () => {
  it("names every fault by pointer and code", () => {
    const found = faults({
      kind: "X",
      subject_reference: "",
      "a/b~c": 1,
      policy: {
        currency: "eur",
        max_amount: 0.5,
        min_amount: null,
        allowed_actions: [],
        attribute_rules: [{ name: "a", in: [1, ""] }],
        periods: [{ zz: 1 }, { unit: "DAY" }]
      },
      window: {}
    })
    assert.deepStrictEqual(
      found.map(({ pointer, code }) => `${code} ${pointer}`).sort(),
      [
        "invalid_value /kind",
        "invalid_type /policy/attribute_rules/0/in/0",
        "invalid_type /policy/min_amount",
        "invalid_value /policy/allowed_actions",
        "invalid_value /policy/attribute_rules/0/in/1",
        "invalid_value /policy/currency",
        "invalid_value /policy/max_amount",
        "invalid_value /subject_reference",
        "required /policy/periods/0/unit",
        "required /window/ends_at",
        "unknown_member /a~1b~0c",
        "unknown_member /policy/periods/0/zz"
      ].sort()
    )
  })

  it("refuses what is not an object, and unknown members named like prototypes", () => {
    for (const value of [null, [], 1, "x", true]) assert.strictEqual(faults(value)[0]?.pointer, "")
    assert.include(
      faults(JSON.parse('{"__proto__": {"kind": "SINGLE"}}')).map((fault) => fault.pointer),
      "/__proto__"
    )
  })

  it("keeps an attribute named __proto__ as it came", () => {
    const body = JSON.parse(
      `{"external_reference":"r","proposed_action":{"action":"a","attributes":{"__proto__":"x"},"payment":{"amount":1,"currency":"EUR"}},"execution_window_seconds":30,"commitment":"utGvSGU-edDiwC4UIu3m4QWjlus8IX2tnLFDr5zWZuU"}`
    )
    const result = decodeBody(CreateAuthorizationBody)(body)
    assert.isTrue(Result.isSuccess(result))
    if (Result.isSuccess(result)) {
      assert.deepStrictEqual(Object.keys(result.success.proposed_action.attributes ?? {}), ["__proto__"])
    }
  })

  it("does not repeat a long name, which could be a secret sent in the wrong place", () => {
    const opening = "A".repeat(43)
    const [fault] = faults({
      kind: "SINGLE",
      subject_reference: "u",
      policy: { currency: "EUR", max_amount: 1, allowed_actions: ["a"], [opening]: 1 },
      window: { ends_at: "2030-01-01T00:00:00Z" }
    })
    assert.strictEqual(fault?.pointer, "/policy")
    assert.strictEqual(fault?.code, "unknown_member")
    assert.notInclude(JSON.stringify(fault), opening)
  })

  it("gives at most 100 faults", () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, 1]))
    assert.strictEqual(faults(many).length, 100)
  })
})

describe("emptyBodyFaults", () => {
  it("finds none in an object without members", () => {
    assert.deepStrictEqual(emptyBodyFaults({}), [])
  })

  it("names every member by its pointer", () => {
    const body = JSON.parse('{"a/b~c":1,"__proto__":2}') as JsonValue
    assert.deepStrictEqual(
      emptyBodyFaults(body).map(({ pointer, code }) => `${code} ${pointer}`),
      ["unknown_member /a~1b~0c", "unknown_member /__proto__"]
    )
  })

  it("takes nothing but an object", () => {
    for (const body of [null, [], "", 0, true]) {
      assert.deepStrictEqual(
        emptyBodyFaults(body).map(({ pointer, code }) => `${code} ${pointer}`),
        ["invalid_type "]
      )
    }
  })
})
