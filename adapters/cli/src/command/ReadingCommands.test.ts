import { assert, describe, it } from "@effect/vitest"
import { COMMANDS } from "./CommandList.ts"
import { READING_COMMANDS } from "./ReadingCommands.ts"

describe("the commands that change nothing", () => {
  it("exist, and are those that list, show, print or follow", () => {
    const reading = COMMANDS.filter(({ summary }) => /^(?:lists|prints) (?!what|one|a new)/u.test(summary))
    const [first, ...others] = [READING_COMMANDS, reading.map(({ name }) => name)].map((names) =>
      names.toSorted()
    )
    assert.deepStrictEqual([first], others)
  })
})
