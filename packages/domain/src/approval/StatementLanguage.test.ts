import { assert, it } from "@effect/vitest"
import { formattingLocale, isLanguage, LANGUAGES } from "./StatementLanguage.ts"

it("a language of the approval page is named by its tag in its very case", () => {
  for (const tag of LANGUAGES) assert.isTrue(isLanguage(tag))
  for (const other of ["EN", "en-GB", "sv", "", undefined, 7, ["en"]]) assert.isFalse(isLanguage(other))
})

it("amounts and dates have Western digits and the Gregorian calendar in every language", () => {
  const instant = Date.parse("2026-12-01T00:00:00Z")
  for (const language of LANGUAGES) {
    const { calendar, numberingSystem } = new Intl.DateTimeFormat(
      formattingLocale(language)
    ).resolvedOptions()
    assert.deepStrictEqual([calendar, numberingSystem], ["gregory", "latn"])
    const year = new Intl.DateTimeFormat(formattingLocale(language), { year: "numeric" }).format(instant)
    assert.include(year, "2026")
  }
})
