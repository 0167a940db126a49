import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import {
  anchorsOf,
  citationsOf,
  linksOf,
  markdownFiles,
  partFiles,
  targetOf,
  textFiles,
  withoutNames
} from "./Documents.ts"
import { ROOT } from "./Imports.ts"

const parts = partFiles()
const citations = textFiles().flatMap(citationsOf)

describe("a citation of the interface", () => {
  it("is found wherever one stands", () => {
    assert.isAbove(citations.length, 300)
    assert.isAbove(citations.filter(({ route }) => route !== undefined).length, 15)
    const text =
      "/** Over\n * two lines (parts 1 to 3, 7\n * and 9, part 6, POST\n * /approve/{token}/passkey). */"
    assert.deepStrictEqual(
      citationsOf({ path: "a.ts", text }).map(({ part, route = "" }) => `${part} ${route}`.trim()),
      ["1", "2", "3", "7", "9", "6 POST /approve/{}/passkey"]
    )
  })

  it("names a part of docs/interface", () => {
    assert.deepStrictEqual([...parts.keys()].toSorted(), ["1", "2", "3", "4", "5", "6", "7", "8", "9"])
    assert.deepStrictEqual(
      citations.filter(({ part }) => !parts.has(part)).map(({ part, path }) => `${path} cites part ${part}`),
      []
    )
  })

  it("names the part that describes the route beside it", () => {
    const texts = new Map([...parts].map(([number, { text }]) => [number, withoutNames(text)]))
    assert.deepStrictEqual(
      citations
        .filter(({ part, route }) => route !== undefined && texts.get(part)?.includes(route) !== true)
        .map(({ part, path, route }) => `${path} cites part ${part} for ${route}`),
      []
    )
  })

  it("goes by the one numbering, so that code need not say which", () => {
    const another = /part \d of the interface|interface, part \d/u
    assert.deepStrictEqual(
      textFiles()
        .filter(({ path, text }) => path.endsWith(".ts") && !path.startsWith("checks/") && another.test(text))
        .map(({ path }) => path),
      []
    )
  })
})

describe("a link of a document", () => {
  const documents = markdownFiles()

  it("leads to a file and to a heading that is in it", () => {
    assert.isAbove(documents.flatMap(linksOf).length, 100)
    const broken = documents.flatMap((document) =>
      linksOf(document).flatMap((link) => {
        const { anchor, path } = targetOf(document, link)
        if (!existsSync(join(ROOT, path))) return [`${document.path} leads to ${path}, which is not there`]
        if (anchor === undefined) return []
        const anchors = anchorsOf({ path, text: readFileSync(join(ROOT, path), "utf8") })
        return anchors.has(anchor) ? [] : [`${document.path} leads to ${path}#${anchor}, which is not there`]
      })
    )
    assert.deepStrictEqual(broken, [])
  })
})
