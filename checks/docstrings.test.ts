import { assert, describe, it } from "@effect/vitest"
import { type ExportedName, entriesOf, exportedNames } from "./Exports.ts"
import { workspaces } from "./Imports.ts"

const named = (name: string) => {
  const workspace = workspaces().find((each) => each.name === name)!
  return { workspace, names: entriesOf(workspace).flatMap(exportedNames) }
}

const placesOf = (names: ReadonlyArray<ExportedName>): ReadonlyArray<string> => [
  ...new Set(names.map(({ name, path }) => `${path}: ${name}`))
]

describe("what a published entry exports", () => {
  it("is found wherever it is declared, with its comment or without", () => {
    const found = exportedNames("packages/svc/src/index.ts").find(({ name }) => name === "createService")
    assert.deepStrictEqual(found, {
      name: "createService",
      path: "packages/svc/src/Service.ts",
      isDocumented: true,
      hasExample: true,
      isValue: true
    })
    const bare = exportedNames("checks/Imports.ts").find(({ name }) => name === "workspaces")
    assert.isFalse(bare?.isDocumented)
  })

  for (const name of ["svc", "@svc/client"]) {
    it(`has a comment: ${name}`, () => {
      const { names } = named(name)
      assert.isAbove(names.length, 40)
      assert.deepStrictEqual(placesOf(names.filter(({ isDocumented }) => !isDocumented)), [])
    })
  }

  it("has an example where svc itself declares a function", () => {
    const { names, workspace } = named("svc")
    const own = names.filter(({ isValue, path }) => isValue && path.startsWith(`${workspace.folder}/`))
    assert.isAbove(own.length, 10)
    assert.deepStrictEqual(placesOf(own.filter(({ hasExample }) => !hasExample)), [])
  })
})
