import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { CreateApprovalSessionBody } from "../ApprovalSession.ts"
import { CancellationBody, CommitBody, CreateAuthorizationBody, RefundBody } from "../Authorization.ts"
import { REQUEST_EXAMPLES } from "../api/RequestExamples.ts"
import type { JsonValue } from "../json/Json.ts"
import { REPEATED_NAME_MAX_UNITS } from "../json/JsonPointer.ts"
import { CreateMandateBody, RevokeMandateBody } from "../Mandate.ts"
import { CreateWebhookEndpointBody } from "../webhook/WebhookEndpoint.ts"
import { decodeBody, emptyBodyFaults } from "./DecodeBody.ts"

const faults = (value: unknown) => {
  const result = decodeBody(CreateMandateBody)(value as JsonValue)
  assert.isTrue(Result.isFailure(result))
  return Result.isFailure(result) ? result.failure : []
}

describe("the faults of a request body (part 2)", () => {
  it("name every member by pointer and code", () => {
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

  it("include a body that is no object, and unknown members named like prototypes", () => {
    const fault = { pointer: "", code: "invalid_type", detail: "the body must be a JSON object" }
    for (const value of [null, [], 1, "x", true]) assert.deepStrictEqual(faults(value), [fault])
    assert.include(
      faults(JSON.parse('{"__proto__": {"kind": "SINGLE"}}')).map((fault) => fault.pointer),
      "/__proto__"
    )
  })

  it("do not include an attribute named __proto__, which is kept", () => {
    const body = JSON.parse(
      `{"external_reference":"r","proposed_action":{"action":"a","attributes":{"__proto__":"x"},"payment":{"amount":1,"currency":"EUR"}},"execution_window_seconds":30,"commitment":"utGvSGU-edDiwC4UIu3m4QWjlus8IX2tnLFDr5zWZuU"}`
    )
    const result = decodeBody(CreateAuthorizationBody)(body)
    assert.isTrue(Result.isSuccess(result))
    if (Result.isSuccess(result)) {
      assert.deepStrictEqual(Object.keys(result.success.proposed_action.attributes ?? {}), ["__proto__"])
    }
  })

  it("do not repeat a long name, which could be a misplaced secret", () => {
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
    const pointers = (body: JsonValue) =>
      faults(body)
        .filter(({ code }) => code === "unknown_member")
        .map(({ pointer }) => pointer)
    assert.deepStrictEqual(pointers({ [opening]: 1 }), [""])
    assert.deepStrictEqual(pointers({ policy: { periods: [{ [opening]: 1 }] } }), ["/policy/periods/0"])
    const longest = "n".repeat(REPEATED_NAME_MAX_UNITS)
    assert.deepStrictEqual(pointers({ [longest]: 1 }), [`/${longest}`])
  })

  it("are at most 100", () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, 1]))
    assert.strictEqual(faults(many).length, 100)
  })
})

const MONEY = "must be an integer of 1 to 9007199254740991 in the currency's minor unit"
const BODIES = {
  createMandate: CreateMandateBody,
  revokeMandate: RevokeMandateBody,
  createApprovalSession: CreateApprovalSessionBody,
  createAuthorization: CreateAuthorizationBody,
  commitAuthorization: CommitBody,
  cancelAuthorization: CancellationBody,
  reportRefund: RefundBody,
  createWebhookEndpoint: CreateWebhookEndpointBody
}

/** The value with another in the place of one of its parts, once for each part. */
const replacements = (value: unknown, other: unknown): ReadonlyArray<unknown> => {
  if (typeof value !== "object" || value === null) return [other]
  const within = Object.entries(value).flatMap(([name, part]) =>
    replacements(part, other).map((replaced) =>
      Array.isArray(value) ? value.with(Number(name), replaced) : { ...value, [name]: replaced }
    )
  )
  return [other, ...within]
}

describe("the detail of a fault (part 2)", () => {
  it.each([
    ["/kind", "DAILY", "must be one of SINGLE, RECURRING"],
    ["/kind", 1, "must be one of SINGLE, RECURRING"],
    ["/subject_reference", 5, "must be a string"],
    ["/policy", [], "must be an object"],
    ["/policy/max_amount", "5", MONEY],
    ["/policy/max_amount", 0.5, MONEY],
    ["/policy/periods", {}, "must be an array"],
    ["/policy/periods/0/interval", "1", "must be an integer of 1 to 366"],
    ["/policy/periods/0/max_executions", true, "must be an integer of 1 to 9007199254740991"],
    ["/window/ends_at", "soon", "must be a UTC timestamp such as 2026-12-01T09:00:00Z, years 2000 to 9999"],
    ["/window/ends_at", 5, "must be a string"]
  ])("of %s given %j says what it must be", (pointer, value, detail) => {
    const body = structuredClone(REQUEST_EXAMPLES.createMandate) as Record<string, unknown>
    const names = pointer.split("/").slice(1)
    const last = names.pop()!
    const parent = names.reduce((at, name) => at[name] as Record<string, unknown>, body)
    parent[last] = value
    assert.deepStrictEqual(
      faults(body).map((fault) => [fault.pointer, fault.detail]),
      [[pointer, detail]]
    )
  })

  it("names the one value that there is", () => {
    const result = decodeBody(Schema.Struct({ alg: Schema.Literal("ES256") }))({ alg: "none" })
    const details = Result.isFailure(result) ? result.failure.map(({ detail }) => detail) : []
    assert.deepStrictEqual(details, ["must be ES256"])
  })

  it("uses the words of the interface for every member of every body, and repeats no value", () => {
    for (const [name, schema] of Object.entries(BODIES)) {
      const decode = decodeBody(schema as typeof CreateMandateBody)
      for (const other of ["zq\u0000", -77123, null, true, [], { zq: "zq" }]) {
        const found = replacements(REQUEST_EXAMPLES[name], other).flatMap((body) => {
          const result = decode(body as JsonValue)
          return Result.isFailure(result) ? result.failure : []
        })
        assert.isNotEmpty(found, name)
        for (const { detail, pointer } of found) {
          assert.match(
            detail,
            /^(?:must |the body must |is required$|is not a member )/u,
            `${name} ${pointer}`
          )
          assert.notMatch(detail, /zq|77123/u, `${name} ${pointer}`)
        }
      }
    }
  })
})

describe("the faults of a body that must be empty (part 2)", () => {
  it("are none in an object without members", () => {
    assert.deepStrictEqual(emptyBodyFaults({}), [])
  })

  it("name every member by its pointer", () => {
    const body = JSON.parse('{"a/b~c":1,"__proto__":2}') as JsonValue
    assert.deepStrictEqual(
      emptyBodyFaults(body).map(({ pointer, code }) => `${code} ${pointer}`),
      ["unknown_member /a~1b~0c", "unknown_member /__proto__"]
    )
  })

  it("include a body that is no object", () => {
    for (const body of [null, [], "", 0, true]) {
      assert.deepStrictEqual(
        emptyBodyFaults(body).map(({ pointer, code }) => `${code} ${pointer}`),
        ["invalid_type "]
      )
    }
  })
})
