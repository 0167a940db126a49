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

  it("show every program of this folder that is not a test", () => {
    const shown = pages.flatMap(blocksOf)
    const unseen = readdirSync(own).filter((name) => {
      const text = readFileSync(new URL(name, own), "utf8")
      return !/\.test\.ts$/u.test(name) && !shown.some((block) => text.includes(block))
    })
    assert.deepStrictEqual(unseen, [])
  })
})
