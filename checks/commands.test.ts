import { assert, describe, it } from "@effect/vitest"
import { COMMANDS } from "@svc/cli/command/CommandList"
import { markdownFiles } from "./Documents.ts"

/** What stands as code on a line of its own or between backticks, and begins with the program. */
const SPOKEN = /(?:`|^(?:npx )?)svc ((?:[a-z][a-z-]*)(?: [^`\n]*)?)/gmu

/** Of two commands the one with more words: `webhook-endpoint list`, not `webhook-endpoint`. */
const commandIn = (words: string) =>
  COMMANDS.filter(({ name }) => `${words} `.startsWith(`${name} `)).toSorted(
    (one, other) => other.name.length - one.name.length
  )[0]

/** Whether the words name commands together, as in `svc organization`. */
const isGroup = (words: string): boolean => COMMANDS.some(({ name }) => name.startsWith(`${words} `))

/** Options that no help of a command repeats. */
const OF_EVERY_COMMAND = new Set(["--json", "--help"])

const withoutComment = (line: string): string => line.replace(/\s#.*$/u, "").trim()

const spoken = markdownFiles().flatMap(({ path, text }) =>
  [...text.replaceAll("\\\n", " ").matchAll(SPOKEN)].map(([, words = ""]) => ({
    path,
    words: withoutComment(words)
  }))
)

describe("a command that a document speaks of", () => {
  it("is one that there is, with options that its help explains", async () => {
    assert.isAbove(spoken.length, 50)
    const unknown: Array<string> = []
    for (const { path, words } of spoken) {
      const command = commandIn(words)
      if (command === undefined) {
        if (!isGroup(words) && !words.startsWith("--")) unknown.push(`${path}: svc ${words}`)
        continue
      }
      const { help } = await command.load()
      for (const option of words.match(/(?<=\s)--[a-z-]+/gu) ?? [])
        if (!help.includes(option) && !OF_EVERY_COMMAND.has(option))
          unknown.push(`${path}: svc ${words}: ${option}`)
    }
    assert.deepStrictEqual(unknown, [])
  })
})
