import { assert, describe, it } from "@effect/vitest"
import type { Policy } from "@svc/protocol/Mandate"
import { MAX_SAFE_INTEGER } from "@svc/protocol/Mandate"
import { at, CREATED, MONTHLY, recurring, STARTS, single } from "../../test/MandateStory.ts"
import { berlin } from "../../test/ZoneTables.ts"
import { displayLines } from "./StatementDisplay.ts"

const lines = (terms: Parameters<typeof displayLines>[0], now = CREATED, name = "Ağaç & Söhne") =>
  displayLines(terms, name, now, "en").lines.map(
    ({ label, value }) => `${label}: ${value.replaceAll("\u202f", " ")}`
  )

describe("what the page shows and the passkey signs", () => {
  it("of a SINGLE mandate", () => {
    assert.deepStrictEqual(lines(single({ description: "A book" })), [
      "In short: You allow Ağaç & Söhne to make one payment of up to €50.00, from Dec 1, 2026, 12:00 AM UTC until Dec 1, 2027, 12:00 AM UTC.",
      "Who asks: Ağaç & Söhne",
      "What for: A book",
      "Amount: At most €50.00",
      "How often: Once",
      "Allowed actions: card.create",
      "Allowed merchants: Any merchant",
      "Valid from: Dec 1, 2026, 12:00 AM UTC",
      "Valid until: Dec 1, 2027, 12:00 AM UTC"
    ])
  })

  it("of a RECURRING mandate: every rule, and the next periods with their caps", () => {
    const policy: Partial<Policy> = {
      min_amount: 100,
      allowed_actions: ["card.create", "card.top_up"],
      allowed_merchants: ["mrc_42", "mrc_é"],
      attribute_rules: [{ name: "category", in: ["books", "music"] }],
      max_total_amount: 60_000,
      max_executions: 24,
      periods: [
        { ...MONTHLY, time_zone: "Europe/Berlin", first_period: "PRORATED", max_executions: 5 },
        { ...MONTHLY, unit: "DAY", interval: 10, alignment: "MANDATE", time_zone: "Europe/Berlin" }
      ]
    }
    const terms = recurring({
      policy,
      time_zones: [berlin],
      window: { starts_at: "2026-12-15T11:00:00Z", ends_at: "2027-12-01T00:00:00Z" }
    })
    assert.deepStrictEqual(lines(terms), [
      "In short: You allow Ağaç & Söhne to make payments of €1.00 to €50.00 each, at most €200.00 and 5 payments each month, at most €200.00 every 10 days, and at most €600.00 and 24 payments in total, from Dec 15, 2026, 11:00 AM UTC until Dec 1, 2027, 12:00 AM UTC.",
      "Who asks: Ağaç & Söhne",
      "Each payment: From €1.00 to €50.00",
      "How often: Repeatedly, within the limits below",
      "Each month: At most €200.00 and 5 payments authorized in each period (time zone Europe/Berlin)",
      "Each month: Dec 1, 2026, 12:00 AM to Jan 1, 2027, 12:00 AM: at most €106.45 and 2 payments",
      "Each month: Jan 1, 2027, 12:00 AM to Feb 1, 2027, 12:00 AM: at most €200.00 and 5 payments",
      "Every 10 days: At most €200.00 authorized in each period (time zone Europe/Berlin)",
      "Every 10 days: Dec 15, 2026, 12:00 AM to Dec 25, 2026, 12:00 AM: at most €200.00",
      "Every 10 days: Dec 25, 2026, 12:00 AM to Jan 4, 2027, 12:00 AM: at most €200.00",
      "In total: At most €600.00 and 24 payments",
      "Allowed actions: card.create",
      "Allowed actions: card.top_up",
      "Allowed merchants: mrc_42",
      "Allowed merchants: mrc_é",
      "Only if “category” is: books",
      "Only if “category” is: music",
      "Valid from: Dec 15, 2026, 11:00 AM UTC",
      "Valid until: Dec 1, 2027, 12:00 AM UTC"
    ])
  })

  it("of a mandate that has begun, with no total that payments could reach", () => {
    const [inShort, ...others] = lines(recurring(), STARTS)
    assert.strictEqual(
      inShort,
      "In short: You allow Ağaç & Söhne to make payments of up to €50.00 each, at most €200.00 each month, until Dec 1, 2027, 12:00 AM UTC."
    )
    for (const line of others) assert.notMatch(line, /^In total/u)
    const counted = lines(recurring({ policy: { max_executions: 1 } }), STARTS - 1n)
    assert.include(counted[0], "and at most 1 payment in total, from Dec 1, 2026")
    assert.include(counted, "In total: At most 1 payment")
  })

  it("of one amount alone", () => {
    const exact = { min_amount: 5000, max_amount: 5000 }
    assert.include(lines(single({ policy: exact })), "Amount: Exactly €50.00")
    assert.include(lines(recurring({ policy: exact })), "Each payment: Exactly €50.00")
  })

  it("shows the periods that are next when it is shown", () => {
    const shown = lines(recurring(), at("2027-03-10T00:00:00Z")).filter((line) =>
      /^Each month: .* to /u.test(line)
    )
    assert.deepStrictEqual(shown, [
      "Each month: Mar 1, 2027, 12:00 AM to Apr 1, 2027, 12:00 AM: at most €200.00",
      "Each month: Apr 1, 2027, 12:00 AM to May 1, 2027, 12:00 AM: at most €200.00"
    ])
  })
})

describe("amounts, with the exponent of ISO 4217", () => {
  const amount = (currency: string, max_amount: number) =>
    lines(single({ policy: { currency, max_amount } }))[2]?.replaceAll("\u00a0", " ")
  const rows: ReadonlyArray<readonly [string, number, string]> = [
    ["EUR", 5, "€0.05"],
    ["JPY", 5000, "¥5,000"],
    ["KWD", 5000, "KWD 5.000"],
    ["HUF", 5000, "HUF 50.00"],
    ["IQD", 5000, "IQD 5.000"],
    ["COP", 5000, "COP 50.00"],
    ["CLF", 12_345, "CLF 1.2345"],
    ["USD", MAX_SAFE_INTEGER, "$90,071,992,547,409.91"],
    ["KWD", MAX_SAFE_INTEGER, "KWD 9,007,199,254,740.991"]
  ]
  for (const [currency, max, text] of rows) {
    it(`${currency} ${max}`, () => assert.strictEqual(amount(currency, max), `Amount: At most ${text}`))
  }
})

describe("two mandates that differ", () => {
  const shownOf = (policy: Partial<Policy>, parts: Parameters<typeof single>[0] = {}) =>
    lines(single({ ...parts, policy })).join("\n")

  it("are shown differently where a text looks like what is made visible of another", () => {
    const rule = (name: string, ...values: ReadonlyArray<string>) => ({ name, in: values })
    assert.notStrictEqual(
      shownOf({ attribute_rules: [rule("mcc\u200b", "x"), rule("mccU+200B", "y")] }),
      shownOf({ attribute_rules: [rule("mcc\u200b", "x", "y")] })
    )
    assert.notStrictEqual(
      shownOf({ allowed_merchants: ["m\u200b1"] }),
      shownOf({ allowed_merchants: ["mU+200B1"] })
    )
  })

  it("are shown differently where a merchant is called what no restriction is called", () => {
    const shown = shownOf({ allowed_merchants: ["any merchant"] })
    assert.include(shown, "Allowed merchants: “any merchant”")
    assert.notStrictEqual(shown, shownOf({}))
  })

  it("are shown differently where a second lies between their windows", () => {
    const ending = (ends_at: string) =>
      shownOf({}, { window: { starts_at: "2026-12-01T00:00:00Z", ends_at } })
    assert.include(ending("2027-01-01T10:00:59Z"), "Valid until: Jan 1, 2027, 10:00:59 AM UTC")
    assert.include(ending("2027-01-01T10:00:30Z"), "Valid until: Jan 1, 2027, 10:00:30 AM UTC")
    assert.include(ending("2027-01-01T10:00:00Z"), "Valid until: Jan 1, 2027, 10:00 AM UTC")
  })

  it("are shown with the code of a currency whose symbol is another's too", () => {
    const amountOf = (currency: string) =>
      shownOf({ currency, max_amount: 5000 }).match(/Amount: At most (.*)/u)?.[1]
    assert.strictEqual(amountOf("XAF")?.replaceAll("\u00a0", " "), "XAF 5,000")
    assert.strictEqual(amountOf("XOF")?.replaceAll("\u00a0", " "), "XOF 5,000")
  })
})

it("callers' text is shown as text, with what it would hide", () => {
  const policy: Partial<Policy> = {
    allowed_actions: ["<script>"],
    allowed_merchants: ["evil\u202e"],
    attribute_rules: [{ name: "n\u200b", in: ["v\u0007"] }]
  }
  const shown = lines(single({ description: "free\u2066", policy }), CREATED, "Shop\u200d")
  assert.include(shown, "Who asks: ShopU+200D")
  assert.include(shown, "What for: freeU+2066")
  assert.include(shown, "Allowed actions: <script>")
  assert.include(shown, "Allowed merchants: evilU+202E")
  assert.include(shown, "Only if “nU+200B” is: vU+0007")
})
