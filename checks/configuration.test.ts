import { assert, describe, it } from "@effect/vitest"
import { COMMANDS } from "@svc/cli/command/CommandList"
import { markdownFiles, textFiles } from "./Documents.ts"

const page = markdownFiles().find(({ path }) => path === "docs/configuration.md")?.text ?? ""

/** Settings of the tests alone. */
const OF_TESTS = /^SVC_TEST_/u

describe("docs/configuration.md", () => {
  it("has every setting, and no other", () => {
    const read = textFiles()
      .filter(({ path }) => path.startsWith("adapters/cli/src/config/") && !path.endsWith(".test.ts"))
      .flatMap(({ text }) =>
        [...text.matchAll(/\b(?:name|fileName): "(SVC_[A-Z_]+)"/gu)].map(([, name = ""]) => name)
      )
    const documented = page.match(/\bSVC_[A-Z][A-Z_]*[A-Z]/gu) ?? []
    assert.isAbove(read.length, 10)
    assert.sameMembers(
      [...new Set(documented)].filter((name) => !OF_TESTS.test(name)),
      [...new Set(read)]
    )
  })

  it("shows every command", () => {
    assert.deepStrictEqual(
      COMMANDS.map(({ name }) => `svc ${name}`).filter((command) => !page.includes(`\n${command}`)),
      []
    )
  })
})
