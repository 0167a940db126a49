import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const docs = fileURLToPath(new URL("../../../docs/testing/", import.meta.url))
const sources = fileURLToPath(new URL(".", import.meta.url))

const textsIn = (folder: string, extension: string): ReadonlyArray<string> =>
  readdirSync(folder)
    .filter((name) => name.endsWith(extension))
    .map((name) => readFileSync(folder + name, "utf8"))

describe("docs/testing", () => {
  it("shows code of these programs alone", () => {
    const blocks = textsIn(docs, ".md").flatMap((page) =>
      [...page.matchAll(/^```ts\n(.*?)^```$/gmsu)].map(([, text = ""]) => text.trim())
    )
    const programs = textsIn(sources, ".ts")
    assert.isAbove(blocks.length, 1)
    assert.deepStrictEqual(
      blocks.filter((block) => !programs.some((program) => program.includes(block))),
      []
    )
  })

  it("calls a store small that is", () => {
    const [store = ""] = textsIn(sources, "MapStore.ts")
    assert.isBelow(store.split("\n").length, 400 + 1)
  })
})
