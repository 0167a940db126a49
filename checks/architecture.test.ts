import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ROOT, workspaces } from "./Imports.ts"

const page = readFileSync(join(ROOT, "docs/architecture.md"), "utf8")

/** What a section names in code type in the first column of its table. */
const namedUnder = (heading: string): ReadonlyArray<string> => {
  const [, section = ""] = page.split(`${heading}\n`)
  const rows = section.split(/\n##+ /u)[0]!.matchAll(/^\| (`[^|]+) \|/gmu)
  return [...rows].flatMap(([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/gu)].map(([, name = ""]) => name))
}

describe("docs/architecture.md", () => {
  it("names every package", () => {
    const named = namedUnder("## Packages").filter((name) => name !== "examples/*")
    const folders = workspaces().map(({ folder }) => folder)
    assert.sameMembers(
      named,
      folders.filter((folder) => !folder.startsWith("examples/"))
    )
  })

  it("names every room of the domain", () => {
    const rooms = readdirSync(join(ROOT, "packages/domain/src"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${name}/`)
    assert.sameMembers([...namedUnder("### Rooms of the domain")], rooms)
  })

  it("says why there is each dependency, and of no other", () => {
    const used = workspaces()
      .filter(({ name }) => name !== "@svc/testkit" && !name.startsWith("@svc/example-"))
      .flatMap(({ dependencies }) => dependencies)
      .filter((name) => name !== "svc" && !name.startsWith("@svc/"))
    assert.sameMembers([...namedUnder("## Dependencies")], [...new Set(used)])
  })
})
