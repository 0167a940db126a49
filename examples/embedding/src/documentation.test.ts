import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const own = new URL(".", import.meta.url)
const docs = new URL("../../../docs/embedding/", import.meta.url)

const pages = [
  ...readdirSync(docs).map((name) => new URL(name, docs)),
  new URL("../../../packages/svc/README.md", import.meta.url)
].filter(({ pathname }) => pathname.endsWith(".md"))

/** The programs of every example, each of which its own tests run. */
const examples = new URL("../../", import.meta.url)
const sources = readdirSync(examples)
  .map((example) => new URL(`${example}/src/`, examples))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) =>
    readdirSync(folder, { encoding: "utf8", recursive: true })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => readFileSync(new URL(name, folder), "utf8"))
  )

/** What an import statement names, by the names that the module uses. */
const namesOf = (statement: string): ReadonlyArray<string> =>
  [...statement.replace(/ from .*$/u, "").matchAll(/(?:\w+ as )?(\w+)/gu)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "import" && name !== "type")

/** The imports of an example that a block of it uses and does not have. */
const missingImports = (block: string): ReadonlyArray<string> => {
  const source = sources.find((text) => text.includes(block)) ?? ""
  return [...source.matchAll(/^import .*$/gmu)]
    .map(([statement]) => statement)
    .filter((statement) => !block.includes(statement))
    .filter((statement) => namesOf(statement).some((name) => new RegExp(`\\b${name}\\b`, "u").test(block)))
}

const blocksOf = (page: URL): ReadonlyArray<string> =>
  [...readFileSync(page, "utf8").matchAll(/^```ts\n(.*?)^```$/gmsu)].map(([, text = ""]) => text.trim())

describe("the pages on embedding and the README of svc", () => {
  it("show code that stands in an example, where tests compile and run it", () => {
    const foreign = pages.flatMap((page) =>
      blocksOf(page)
        .filter((block) => !sources.some((source) => source.includes(block)))
        .map((block) => `${fileURLToPath(page)}:\n${block}`)
    )
    assert.deepStrictEqual(foreign, [])
    assert.isAbove(pages.flatMap(blocksOf).length, 15)
  })

  it("show code with its imports", () => {
    assert.deepStrictEqual(pages.flatMap(blocksOf).flatMap(missingImports), [])
    const [first = ""] = pages.flatMap(blocksOf)
    const [statement = "", ...rest] = first.split("\n")
    assert.deepStrictEqual(missingImports(rest.join("\n")), [statement])
  })

  it("show every program of this folder that is not a test", () => {
    const shown = pages.flatMap(blocksOf)
    const unseen = readdirSync(own).filter((name) => {
      const text = readFileSync(new URL(name, own), "utf8")
      return !/\.test\.ts$/u.test(name) && !shown.some((block) => text.includes(block))
    })
    assert.deepStrictEqual(unseen, [])
  })
})
