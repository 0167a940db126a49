import { assert, describe, it } from "@effect/vitest"
import { importsOf, publishedName, withPublishedImports } from "./PackageNames.ts"

const names = { scope: "@mandates", front: "mandates" }

const CODE = `/**
 * import { named } from "in-a-comment"
 */
import { a } from "@svc/domain/Refusals"
import type {
  b
} from "svc/node"
import "svcs"
export * from "./Neighbour.ts"
export declare const c: import("@svc/protocol/Problem").Problem
const sql = \`delete from "claim"\`
`

describe("importsOf", () => {
  it("finds statements and types, and nothing in comments or texts", () => {
    assert.deepStrictEqual(importsOf(CODE), [
      "@svc/domain/Refusals",
      "svc/node",
      "svcs",
      "./Neighbour.ts",
      "@svc/protocol/Problem"
    ])
  })
})

describe("withPublishedImports", () => {
  it("renames them in examples too", () => {
    const example = (name: string) => `/**\n * import { memory } from "${name}/memory"\n */`
    assert.strictEqual(withPublishedImports(example("svc"), names), example("mandates"))
  })

  it("renames the packages of this repository, and points to the neighbours' JavaScript", () => {
    assert.deepStrictEqual(importsOf(withPublishedImports(CODE, names)), [
      "@mandates/domain/Refusals",
      "mandates/node",
      "svcs",
      "./Neighbour.js",
      "@mandates/protocol/Problem"
    ])
  })
})

describe("publishedName", () => {
  it("keeps other packages' names", () => {
    assert.deepStrictEqual(
      ["@svc/domain", "svc", "svc/node", "effect", "svc-other"].map((name) => publishedName(name, names)),
      ["@mandates/domain", "mandates", "mandates/node", "effect", "svc-other"]
    )
  })
})
