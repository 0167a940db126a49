import { dirname } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type SourceFile, sourceFiles, workspaces } from "./Imports.ts"

const TAG =
  /\b(?:class|const) (\w+)\s+(?:extends|=)\s+Context\.(?:Service|Reference)\b[\s\S]*?\(\s*"([^"]+)"/gu

interface ServiceTag {
  readonly path: string
  readonly tag: string
  /** The package, the folder below its `src`, and the service's name. */
  readonly expected: string
}

const tagsOf = ({ path, text, workspace }: SourceFile): ReadonlyArray<ServiceTag> => {
  const folder = dirname(path)
    .slice(workspace.folder.length)
    .replace(/^\/src/u, "")
  return [...text.matchAll(TAG)].map(([, name = "", tag = ""]) => ({
    path,
    tag,
    expected: `${workspace.name}${folder}/${name}`
  }))
}

describe("tags of services", () => {
  const tags = workspaces().flatMap(sourceFiles).flatMap(tagsOf)

  it("are found in every file that defines one", () => {
    const defining = workspaces()
      .flatMap(sourceFiles)
      .filter(({ text }) => /\bContext\.(?:Service|Reference)[<(]/u.test(text))
      .map(({ path }) => path)
    assert.isNotEmpty(defining)
    assert.sameMembers([...new Set(tags.map(({ path }) => path))], defining)
  })

  it("name the package, the folder and the service", () => {
    assert.deepStrictEqual(
      tags.filter(({ expected, tag }) => tag !== expected),
      []
    )
  })

  it("are unique", () => {
    assert.lengthOf(new Set(tags.map(({ tag }) => tag)), tags.length)
  })
})
