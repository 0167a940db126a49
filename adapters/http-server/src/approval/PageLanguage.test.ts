import { assert, describe, it } from "@effect/vitest"
import { pageLanguage } from "./PageLanguage.ts"

describe("pageLanguage", () => {
  const rows: ReadonlyArray<readonly [string | undefined, string]> = [
    [undefined, "en"],
    ["", "en"],
    ["*", "en"],
    ["de", "de"],
    ["de-AT,de;q=0.9,en;q=0.8", "de"],
    ["pt-BR", "pt"],
    ["zh-CN, ja;q=0.5", "ja"],
    ["zh-CN", "en"],
    ["AR-eg", "ar"],
    ["iw-IL", "he"],
    ["he-IL", "he"],
    ["en;q=0.5, fr;q=0.9", "fr"],
    ["fr;q=0, nl;q=0.1", "nl"],
    ["fr;q=0", "en"],
    ["pl;q=1.5;;,,", "pl"],
    ["__proto__, constructor;q=0.5", "en"],
    ["de\u0000", "en"]
  ]
  for (const [header, language] of rows) {
    it(`${JSON.stringify(header)} is ${language}`, () => assert.strictEqual(pageLanguage(header), language))
  }
})
