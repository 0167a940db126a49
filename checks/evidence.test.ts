import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CHECKS } from "@svc/verifier"
import { PINS } from "../packages/verifier/test/Forgeries.ts"
import { ROOT } from "./Imports.ts"

const page = readFileSync(join(ROOT, "docs/evidence.md"), "utf8")

/** The rows of the table under a heading, as their cells. */
const rowsUnder = (heading: string): ReadonlyArray<ReadonlyArray<string>> => {
  const [, section = ""] = page.split(`${heading}\n`)
  const lines = section.split(/\n##+ /u)[0]!.split("\n")
  const rows = lines.filter((line) => line.startsWith("| ")).map((line) => line.slice(2, -2).split(" | "))
  return rows.slice(1)
}

describe("docs/evidence.md", () => {
  it("names every check, in the order of the report", () => {
    const named = rowsUnder("## The checks").flatMap(([cell = ""]) =>
      [...cell.matchAll(/`([^`]+)`/gu)].map(([, name]) => name)
    )
    assert.deepStrictEqual(named, Object.keys(CHECKS))
  })

  it("lists everything that is accepted without knowledge from elsewhere, and what pins it", () => {
    const listed = rowsUnder("## What evidence cannot prove by itself")
    const titles = Object.keys(PINS)
    assert.lengthOf(listed, titles.length)
    for (const [index, title] of titles.entries()) {
      const [what = "", pin = ""] = listed[index] ?? []
      assert.isTrue(what.startsWith(title), `${title}: ${what}`)
      assert.isAbove(pin.length, 5)
    }
  })
})
