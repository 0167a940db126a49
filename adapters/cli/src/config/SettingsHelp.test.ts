import { assert, describe, it } from "@effect/vitest"
import { DEV_HELP, helpOf, SETTINGS_HEADING, SETTINGS_OF } from "./SettingsHelp.ts"

/** Longest line of a terminal that help is written for, in characters. */
const WIDTH = 120

describe("the settings in a help text", () => {
  it("stand in lines that fit a terminal, and lose no word", () => {
    for (const settings of Object.values(SETTINGS_OF)) {
      const help = helpOf("svc x: does it.", settings)
      for (const line of help.split("\n")) assert.isAtMost(line.length, WIDTH, line)
      const words = help.replaceAll(/\s+/gu, " ")
      for (const { form, meaning, name } of settings) {
        assert.include(help, `\n  ${name}\n      `)
        assert.include(words, `${name} ${meaning} ${form}. `)
      }
    }
  })

  it("are left out where there are none", () => {
    assert.notInclude(helpOf("svc x: does it.", []), SETTINGS_HEADING)
    assert.include(DEV_HELP, SETTINGS_HEADING)
  })
})
