import { assert, describe, it } from "@effect/vitest"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { CreateMandateBody } from "@svc/protocol/Mandate"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { formatInstant } from "@svc/protocol/Timestamp"
import { Result } from "effect"
import { at, DAY, HOUR } from "../../test/MandateStory.ts"
import { proposeTerms } from "./MandateRequest.ts"

const NOW = at("2026-11-28T09:00:00.000000001Z")
const ZONES = new Set(["UTC", "Europe/Berlin", "US/Pacific"])
const decode = decodeBody(CreateMandateBody)

const PERIOD: JsonObject = { unit: "MONTH", max_amount: 20_000 }
const POLICY: JsonObject = { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] }
const BODY: JsonObject = {
  kind: "RECURRING",
  subject_reference: "user_8f2",
  policy: { ...POLICY, periods: [PERIOD] },
  window: { starts_at: "2026-12-01T00:00:00Z", ends_at: "2027-12-01T00:00:00Z" },
  approval_deadline: "2026-11-30T00:00:00Z"
}

const recurring = (policy: JsonObject): JsonObject => ({
  ...BODY,
  policy: { ...(BODY.policy as JsonObject), ...policy }
})
const single = (policy: JsonObject = {}): JsonObject => ({
  ...BODY,
  kind: "SINGLE",
  policy: { ...POLICY, ...policy }
})
const period = (parts: JsonObject): JsonObject => recurring({ periods: [{ ...PERIOD, ...parts }] })
const rule = (name: string, ...values: ReadonlyArray<string>): JsonObject => ({ name, in: values })
const without = (body: JsonObject, member: string): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== member))

const terms = (body: JsonValue, now = NOW) =>
  Result.flatMap(decode(body), (valid) => proposeTerms(valid, now, (name) => ZONES.has(name)))

/** Pointers and codes of what is wrong, or nothing. */
const faults = (body: JsonValue, now = NOW): ReadonlyArray<string> => {
  const result = terms(body, now)
  return Result.isSuccess(result) ? [] : result.failure.map(({ pointer, code }) => `${pointer} ${code}`)
}

const accepted = (body: JsonValue, now = NOW) => {
  const result = terms(body, now)
  if (Result.isFailure(result)) throw new Error(JSON.stringify(result.failure))
  return result.success
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `v${index}`)

const table = (
  name: string,
  rows: Readonly<Record<string, readonly [JsonValue, ...ReadonlyArray<string>]>>
) =>
  describe(name, () => {
    for (const [title, [body, ...expected]] of Object.entries(rows)) {
      it(title, () => assert.deepStrictEqual(faults(body), expected))
    }
  })

table("body", {
  "the example": [BODY],
  "not an object": [[], " invalid_type"],
  "an unknown member": [{ ...BODY, state: "ACTIVE" }, "/state unknown_member"],
  "organization_id is not the caller's to say": [
    { ...BODY, organization_id: "org_1" },
    "/organization_id unknown_member"
  ],
  "an unknown member of the policy": [recurring({ max_amout: 1 }), "/policy/max_amout unknown_member"],
  "an unknown member of a period": [period({ cap: 1 }), "/policy/periods/0/cap unknown_member"],
  "null for an optional member": [{ ...BODY, description: null }, "/description invalid_type"],
  "null deadline": [{ ...BODY, approval_deadline: null }, "/approval_deadline invalid_type"],
  "every missing member": [
    {},
    "/kind required",
    "/subject_reference required",
    "/policy required",
    "/window required"
  ],
  "another kind": [{ ...BODY, kind: "TWICE" }, "/kind invalid_value"],
  "an empty subject": [{ ...BODY, subject_reference: "" }, "/subject_reference invalid_value"],
  "a subject of 255 code points of two units": [{ ...BODY, subject_reference: "😀".repeat(255) }],
  "a subject of 256": [{ ...BODY, subject_reference: "😀".repeat(256) }, "/subject_reference invalid_value"],
  "U+0000": [{ ...BODY, subject_reference: "a\u0000" }, "/subject_reference invalid_value"],
  "a lone surrogate": [{ ...BODY, description: "\ud800" }, "/description invalid_value"],
  "an empty description": [{ ...BODY, description: "" }, "/description invalid_value"]
})

table("kind", {
  SINGLE: [single()],
  "SINGLE forbids periods": [single({ periods: [PERIOD] }), "/policy/periods not_allowed"],
  "SINGLE forbids max_total_amount": [
    single({ max_total_amount: 1 }),
    "/policy/max_total_amount not_allowed"
  ],
  "SINGLE forbids max_executions": [single({ max_executions: 1 }), "/policy/max_executions not_allowed"],
  "RECURRING needs periods": [{ ...BODY, policy: POLICY }, "/policy/periods required"],
  "RECURRING needs one period": [recurring({ periods: [] }), "/policy/periods invalid_value"],
  "RECURRING with five": [
    recurring({ periods: [1, 2, 3, 4, 5].map((max_amount) => ({ ...PERIOD, max_amount })) })
  ],
  "RECURRING with six": [
    recurring({ periods: [1, 2, 3, 4, 5, 6].map((max_amount) => ({ ...PERIOD, max_amount })) }),
    "/policy/periods invalid_value"
  ]
})

table("amounts", {
  "2^53-1": [single({ max_amount: 9007199254740991 })],
  "0": [single({ max_amount: 0 }), "/policy/max_amount invalid_value"],
  "-1": [single({ max_amount: -1 }), "/policy/max_amount invalid_value"],
  "100.5": [single({ max_amount: 100.5 }), "/policy/max_amount invalid_value"],
  "a string": [single({ max_amount: "100" }), "/policy/max_amount invalid_type"],
  "2^53": [single({ max_amount: 9007199254740992 }), "/policy/max_amount invalid_value"],
  "a minimum above the maximum": [single({ min_amount: 5001 }), "/policy/min_amount invalid_value"],
  "a minimum equal to the maximum": [single({ min_amount: 5000 })],
  "min_amount 0": [single({ min_amount: 0 }), "/policy/min_amount invalid_value"],
  "max_executions 0": [recurring({ max_executions: 0 }), "/policy/max_executions invalid_value"],
  "a period's max_amount 0": [period({ max_amount: 0 }), "/policy/periods/0/max_amount invalid_value"]
})

table("currency", {
  JPY: [single({ currency: "JPY" })],
  "lower case": [single({ currency: "eur" }), "/policy/currency invalid_value"],
  gold: [single({ currency: "XAU" }), "/policy/currency invalid_value"],
  tests: [single({ currency: "XTS" }), "/policy/currency invalid_value"],
  none: [single({ currency: "XXX" }), "/policy/currency invalid_value"],
  withdrawn: [single({ currency: "DEM" }), "/policy/currency invalid_value"],
  "a drawing right without a minor unit": [single({ currency: "XDR" }), "/policy/currency invalid_value"],
  unknown: [single({ currency: "ZZZ" }), "/policy/currency invalid_value"]
})

table("lists", {
  "50 actions": [single({ allowed_actions: numbered(50) })],
  "51 actions": [single({ allowed_actions: numbered(51) }), "/policy/allowed_actions invalid_value"],
  "no action": [single({ allowed_actions: [] }), "/policy/allowed_actions invalid_value"],
  "100 merchants": [single({ allowed_merchants: numbered(100) })],
  "101 merchants": [single({ allowed_merchants: numbered(101) }), "/policy/allowed_merchants invalid_value"],
  "no merchant": [single({ allowed_merchants: [] }), "/policy/allowed_merchants invalid_value"],
  "20 rules": [single({ attribute_rules: numbered(20).map((name) => rule(name, "a")) })],
  "21 rules": [
    single({ attribute_rules: numbered(21).map((name) => rule(name, "a")) }),
    "/policy/attribute_rules invalid_value"
  ],
  "no rule": [single({ attribute_rules: [] })],
  "100 values": [single({ attribute_rules: [rule("a", ...numbered(100))] })],
  "101 values": [
    single({ attribute_rules: [rule("a", ...numbered(101))] }),
    "/policy/attribute_rules/0/in invalid_value"
  ],
  "no value": [single({ attribute_rules: [rule("a")] }), "/policy/attribute_rules/0/in invalid_value"],
  "a name of 64 code points": [single({ attribute_rules: [rule("é".repeat(64), "a")] })],
  "a name of 65": [
    single({ attribute_rules: [rule("é".repeat(65), "a")] }),
    "/policy/attribute_rules/0/name invalid_value"
  ],
  "a repeated action": [single({ allowed_actions: ["a", "b", "a"] }), "/policy/allowed_actions/2 duplicate"],
  "another case or Unicode form is another entry": [single({ allowed_actions: ["a", "A", "é", "e\u0301"] })],
  "a repeated merchant": [single({ allowed_merchants: ["m", "m"] }), "/policy/allowed_merchants/1 duplicate"],
  "a repeated rule name": [
    single({ attribute_rules: [rule("a", "1"), rule("a", "2")] }),
    "/policy/attribute_rules/1/name duplicate"
  ],
  "a repeated value": [
    single({ attribute_rules: [rule("a", "1", "1")] }),
    "/policy/attribute_rules/0/in/1 duplicate"
  ],
  "names that objects inherit": [
    single({ attribute_rules: [rule("__proto__", "1"), rule("constructor", "1")] })
  ]
})

table("periods", {
  "interval 366 by MANDATE": [period({ interval: 366, alignment: "MANDATE" })],
  "interval 367": [
    period({ interval: 367, alignment: "MANDATE" }),
    "/policy/periods/0/interval invalid_value"
  ],
  "interval 0": [period({ interval: 0 }), "/policy/periods/0/interval invalid_value"],
  "CALENDAR with an interval": [period({ interval: 2 }), "/policy/periods/0/interval invalid_value"],
  "CALENDAR with interval 1": [period({ interval: 1, alignment: "CALENDAR" })],
  "a unit in another case": [period({ unit: "month" }), "/policy/periods/0/unit invalid_value"],
  "neither cap": [recurring({ periods: [{ unit: "DAY" }] }), "/policy/periods/0 required"],
  "executions alone": [recurring({ periods: [{ unit: "DAY", max_executions: 1 }] })],
  "a link name": [period({ time_zone: "US/Pacific" })],
  "another case": [period({ time_zone: "europe/berlin" }), "/policy/periods/0/time_zone invalid_value"],
  "an offset": [period({ time_zone: "+01:00" }), "/policy/periods/0/time_zone invalid_value"],
  "an unknown zone": [period({ time_zone: "Mars/Base" }), "/policy/periods/0/time_zone invalid_value"],
  "the same twice": [recurring({ periods: [PERIOD, PERIOD] }), "/policy/periods/1 duplicate"],
  "the same with its defaults spelt out": [
    recurring({
      periods: [
        PERIOD,
        { ...PERIOD, interval: 1, alignment: "CALENDAR", time_zone: "UTC", first_period: "FULL" }
      ]
    }),
    "/policy/periods/1 duplicate"
  ],
  "the same unit under another cap": [recurring({ periods: [PERIOD, { ...PERIOD, max_amount: 1 }] })]
})

const window = (starts_at: string | undefined, ends_at: string, approval_deadline?: string): JsonObject => ({
  ...without(BODY, "approval_deadline"),
  window: { ...(starts_at === undefined ? {} : { starts_at }), ends_at },
  ...(approval_deadline === undefined ? {} : { approval_deadline })
})

table("window and deadline", {
  "24 hours in the past": [window("2026-11-27T09:00:00.000000001Z", "2026-12-01T00:00:00Z")],
  "a nanosecond more": [
    window("2026-11-27T09:00:00Z", "2026-12-01T00:00:00Z"),
    "/window/starts_at invalid_value"
  ],
  "10 years ahead": [window("2036-11-28T09:00:00.000000001Z", "2036-12-01T00:00:00Z")],
  "more than 10 years ahead": [
    window("2036-11-28T09:00:00.000000002Z", "2036-12-01T00:00:00Z"),
    "/window/starts_at invalid_value"
  ],
  "10 years long": [window("2026-12-01T00:00:00Z", "2036-12-01T00:00:00Z")],
  "more than 10 years long": [
    window("2026-12-01T00:00:00Z", "2036-12-01T00:00:00.000000001Z"),
    "/window/ends_at invalid_value"
  ],
  "10 years from a leap day": [window("2028-02-29T00:00:00Z", "2038-02-28T00:00:00Z")],
  "10 years from a leap day and a day": [
    window("2028-02-29T00:00:00Z", "2038-03-01T00:00:00Z"),
    "/window/ends_at invalid_value"
  ],
  "an empty window": [
    window("2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z"),
    "/window/ends_at invalid_value"
  ],
  "ends_at now": [
    window("2026-11-28T00:00:00Z", "2026-11-28T09:00:00.000000001Z"),
    "/window/ends_at invalid_value"
  ],
  "ends_at in the past says one thing": [
    window("2026-11-28T00:00:00Z", "2026-11-28T08:00:00Z"),
    "/window/ends_at invalid_value"
  ],
  "ends_at in the past says it alone, whatever the deadline": [
    window("2026-11-28T00:00:00Z", "2026-11-28T08:00:00Z", "2026-11-29T00:00:00Z"),
    "/window/ends_at invalid_value"
  ],
  "ends_at now says it alone, whatever the deadline": [
    window("2026-11-28T00:00:00Z", "2026-11-28T09:00:00.000000001Z", "2026-11-29T00:00:00Z"),
    "/window/ends_at invalid_value"
  ],
  "ends_at is required": [{ ...BODY, window: {} }, "/window/ends_at required"],
  "year 9999 is a date like another": [
    window("9995-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"),
    "/window/starts_at invalid_value"
  ],
  "a deadline now": [
    window("2026-12-01T00:00:00Z", "2027-12-01T00:00:00Z", "2026-11-28T09:00:00.000000001Z"),
    "/approval_deadline invalid_value"
  ],
  "a deadline at ends_at": [window(undefined, "2027-12-01T00:00:00Z", "2027-12-01T00:00:00Z")],
  "a deadline after ends_at": [
    window(undefined, "2027-12-01T00:00:00Z", "2027-12-01T00:00:00.000000001Z"),
    "/approval_deadline invalid_value"
  ],
  "30 February": [window("2027-02-30T00:00:00Z", "2027-12-01T00:00:00Z"), "/window/starts_at invalid_value"],
  "29 February of a common year": [
    window("2027-02-29T00:00:00Z", "2027-12-01T00:00:00Z"),
    "/window/starts_at invalid_value"
  ],
  "a leap second": [window(undefined, "2026-12-31T23:59:60Z"), "/window/ends_at invalid_value"],
  "24 o'clock": [window(undefined, "2026-12-31T24:00:00Z"), "/window/ends_at invalid_value"],
  "an offset instead of Z": [window(undefined, "2026-12-31T00:00:00+00:00"), "/window/ends_at invalid_value"],
  "lower case": [window(undefined, "2026-12-31t00:00:00z"), "/window/ends_at invalid_value"],
  "a date only": [window(undefined, "2026-12-31"), "/window/ends_at invalid_value"],
  "ten digits of fraction": [
    window(undefined, "2026-12-31T00:00:00.0000000001Z"),
    "/window/ends_at invalid_value"
  ],
  "before the year 2000": [
    window("1999-12-31T00:00:00Z", "2026-12-31T00:00:00Z"),
    "/window/starts_at invalid_value"
  ]
})

it("a window ends within 10 years also where those reach the last year there is", () => {
  const now = at("9989-06-01T00:00:00Z")
  assert.deepStrictEqual(faults(window(undefined, "9999-06-01T00:00:00Z"), now), [])
  assert.deepStrictEqual(faults(window(undefined, "9999-06-01T00:00:00.000000001Z"), now), [
    "/window/ends_at invalid_value"
  ])
  const later = at("9990-06-01T00:00:00Z")
  assert.deepStrictEqual(faults(window(undefined, "9999-12-31T23:59:59.999999999Z"), later), [])
})

describe("what is filled in", () => {
  it("defaults of policy and periods; lists keep their order", () => {
    const { policy } = accepted(
      recurring({ allowed_actions: ["z", "a"], allowed_merchants: ["m2", "m1"], periods: [PERIOD] })
    )
    assert.deepStrictEqual(policy as unknown, {
      currency: "EUR",
      max_amount: 5000,
      min_amount: 1,
      allowed_actions: ["z", "a"],
      allowed_merchants: ["m2", "m1"],
      max_total_amount: 9007199254740991,
      periods: [
        {
          unit: "MONTH",
          interval: 1,
          alignment: "CALENDAR",
          time_zone: "UTC",
          first_period: "FULL",
          max_amount: 20_000
        }
      ]
    })
  })

  it("a SINGLE policy gets its minimum and nothing else", () => {
    assert.deepStrictEqual(accepted(single()).policy as unknown, { ...POLICY, min_amount: 1 })
  })

  it("starts_at is now, and the deadline a day later", () => {
    const filled = accepted(window(undefined, "2027-12-01T00:00:00.500Z"))
    assert.deepStrictEqual(filled.window, {
      starts_at: "2026-11-28T09:00:00.000000001Z",
      ends_at: "2027-12-01T00:00:00.5Z"
    })
    assert.strictEqual(filled.approval_deadline, "2026-11-29T09:00:00.000000001Z")
  })

  it("the deadline is ends_at where that comes first, in the caller's own text", () => {
    const ends_at = formatInstant(NOW + DAY - HOUR)
    assert.strictEqual(accepted(window(undefined, ends_at)).approval_deadline, ends_at)
    const exactly = "2026-11-29T09:00:00Z"
    const now = at("2026-11-28T09:00:00Z")
    assert.strictEqual(accepted(window(undefined, exactly), now).approval_deadline, exactly)
  })

  it("a description stays away unless given", () => {
    assert.notProperty(accepted(BODY), "description")
    assert.strictEqual(accepted({ ...BODY, description: "Monthly books" }).description, "Monthly books")
  })
})

it("every fault is told at once", () => {
  assert.deepStrictEqual(
    faults({
      kind: "SINGLE",
      subject_reference: "s",
      policy: { ...POLICY, currency: "XAU", min_amount: 6000, max_executions: 2 },
      window: { starts_at: "2020-01-01T00:00:00Z", ends_at: "2020-01-01T00:00:00Z" },
      approval_deadline: "2020-01-01T00:00:00Z"
    }),
    [
      "/policy/max_executions not_allowed",
      "/policy/currency invalid_value",
      "/policy/min_amount invalid_value",
      "/window/starts_at invalid_value",
      "/window/ends_at invalid_value",
      "/approval_deadline invalid_value"
    ]
  )
})
