import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { hasVectors, readVectorText } from "../test/PublicVectors.ts"
import { formatMajorUnits, isCurrencyForm, minorUnit } from "./Currency.ts"
import { ISO_4217_MINOR_UNITS, ISO_4217_PUBLISHED } from "./Iso4217.ts"

const LIST = "iso4217/codes-all.csv"

describe.skipIf(!hasVectors(LIST))("the currency table (part 1)", () => {
  /** Code, minor unit and withdrawal date are the last columns but for the numeric code: no quoting there. */
  const records = hasVectors(LIST)
    ? [...readVectorText(LIST).matchAll(/,([A-Z]{3}),\d*,([^,\n]*),([^,\n]*)$/gmu)].map(
        ([, code, unit, withdrawn]) => ({ code: code!, unit: unit!, withdrawn: withdrawn! })
      )
    : []
  const current = records.filter(({ unit, withdrawn }) => withdrawn === "" && /^\d$/u.test(unit))

  it("has the minor unit of every current ISO 4217 currency", () => {
    assert.isAbove(current.length, 200)
    for (const { code, unit } of current) assert.strictEqual(minorUnit(code), Number(unit), code)
  })

  it("has no other entry", () => {
    assert.sameMembers([...ISO_4217_MINOR_UNITS.keys()], [...new Set(current.map(({ code }) => code))])
    assert.isTrue(records.some(({ withdrawn }) => withdrawn === ISO_4217_PUBLISHED.latestWithdrawal))
  })
})

describe("the minor unit of a currency (part 1)", () => {
  it.each([
    ["EUR", 2],
    ["JPY", 0],
    ["KWD", 3],
    ["HUF", 2],
    ["IQD", 3],
    ["COP", 2],
    ["UYW", 4],
    ["CLF", 4]
  ] as const)("of %s is %d", (code, exponent) => assert.strictEqual(minorUnit(code), exponent))

  it.each([
    "XAU",
    "XAG",
    "XDR",
    "XTS",
    "XXX",
    "DEM",
    "HRK",
    "BGN",
    "ZZZ",
    "eur",
    "",
    "__proto__",
    "constructor"
  ])("is not known for %s", (code) => assert.isUndefined(minorUnit(code)))
})

describe("the form of a currency code (part 1)", () => {
  it("is three upper-case letters", () => {
    for (const code of ["EUR", "ZZZ", "XXX"]) assert.isTrue(isCurrencyForm(code))
    for (const code of ["eur", "EU", "EURO", "EU1", "EUR\n", " EUR", "ÀÉÎ", ""])
      assert.isFalse(isCurrencyForm(code))
  })
})

describe("an amount in major units (part 1)", () => {
  it.each([
    [5000, 2, "50.00"],
    [5, 2, "0.05"],
    [0, 2, "0.00"],
    [0, 0, "0"],
    [5000, 0, "5000"],
    [1, 3, "0.001"],
    [1234567, 4, "123.4567"],
    [-5, 2, "-0.05"],
    [9007199254740991, 2, "90071992547409.91"],
    [90071992547409910n, 3, "90071992547409.910"]
  ])("of %d with exponent %d is %s", (amount, exponent, text) => {
    assert.strictEqual(formatMajorUnits(amount, exponent), text)
  })

  it("is refused for anything but an integer", () => {
    for (const amount of [0.5, Number.NaN, 2 ** 53])
      assert.throws(() => formatMajorUnits(amount, 2), RangeError)
  })

  it("loses no digit", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 80n }),
        fc.integer({ min: 1, max: 4 }),
        (amount, exponent) => {
          const [whole, fraction] = formatMajorUnits(amount, exponent).split(".") as [string, string]
          assert.strictEqual(fraction.length, exponent)
          assert.strictEqual(BigInt(whole + fraction), amount)
          assert.strictEqual(BigInt(whole).toString(), whole)
        }
      )
    )
  })
})
