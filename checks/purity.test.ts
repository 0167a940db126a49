import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { OF_NODE_ALONE, ROOT, sourceFiles, workspaces } from "./Imports.ts"

/** The compiler on a busy machine, in milliseconds. */
const COMPILER_MS = 120_000

/** Each of these compiles with the types of Node and the DOM, and with neither of them. */
const IMPURE = [
  'import { readFileSync } from "node:fs"\nexport const use = readFileSync',
  'import { createHash } from "crypto"\nexport const use = createHash',
  "export const use = Buffer.alloc(1)",
  "export const use = process.env",
  "export const use = setTimeout(() => {}, 1)",
  'export const use = fetch("https://example.com")',
  "export const use = document.title",
  "export const use = performance.now()",
  "export const use = crypto.randomUUID()",
  'export const use = () => console.log("")'
]

const PURE = 'export const use = [new URL("https://example.com").href, new TextEncoder().encode("")]'

const tsc = (...args: ReadonlyArray<string>): string =>
  spawnSync(process.execPath, [join(ROOT, "node_modules", "typescript", "bin", "tsc"), ...args], {
    cwd: ROOT,
    encoding: "utf8"
  }).stdout

let folder = ""

/** The planted files that do not compile under a configuration. */
const rejected = (
  name: string,
  configuration: string,
  ...globals: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const project = join(folder, `${name}.json`)
  const reach = (path: string) => relative(folder, join(ROOT, path))
  writeFileSync(
    project,
    JSON.stringify({
      extends: reach(configuration),
      files: ["./pure.ts", ...IMPURE.map((_, i) => `./impure${i}.ts`), ...globals.map(reach)],
      include: []
    })
  )
  const output = tsc("--pretty", "false", "-p", project)
  return [
    ...new Set([...output.matchAll(/^\S*?(\w+)\.ts\(\d+,\d+\): error/gm)].map(([, file]) => file ?? ""))
  ]
}

describe.each(["protocol", "domain"])("packages/%s/tsconfig.pure.json", (name) => {
  const configuration = `packages/${name}/tsconfig.pure.json`

  beforeAll(() => {
    // Inside the repository, where the types of Node would be found.
    const cache = join(ROOT, "node_modules", ".cache")
    mkdirSync(cache, { recursive: true })
    folder = mkdtempSync(join(cache, "purity-"))
    writeFileSync(join(folder, "pure.ts"), PURE)
    for (const [i, text] of IMPURE.entries()) writeFileSync(join(folder, `impure${i}.ts`), text)
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  it("compiles every production source of its package but the one that is of Node", {
    timeout: COMPILER_MS
  }, () => {
    const compiled = tsc("--listFilesOnly", "-p", configuration).split("\n")
    const production = workspaces()
      .filter((workspace) => workspace.folder === `packages/${name}`)
      .flatMap(sourceFiles)
      .filter(({ isTest, path }) => !isTest && path !== OF_NODE_ALONE)
    assert.isAbove(production.length, 20)
    assert.includeMembers(
      compiled,
      production.map(({ path }) => join(ROOT, path))
    )
    assert.notInclude(compiled, join(ROOT, OF_NODE_ALONE))
  })

  it("rejects the platform, which the configuration of everything else accepts", {
    timeout: COMPILER_MS
  }, () => {
    assert.deepStrictEqual(
      rejected(name, configuration, "packages/protocol/web-standards.d.ts"),
      IMPURE.map((_, i) => `impure${i}`)
    )
    assert.deepStrictEqual(rejected(`${name}-control`, "tsconfig.base.json"), [])
  })

  it("is run by a script", () => {
    const scripts = ["package.json", `packages/${name}/package.json`].flatMap((manifest) =>
      Object.values<string>(JSON.parse(readFileSync(join(ROOT, manifest), "utf8")).scripts ?? {})
    )
    assert.isTrue(scripts.some((script) => script.includes("tsconfig.pure.json")))
  })
})
