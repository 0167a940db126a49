import { createRequire } from "node:module"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type BuildOptions, buildSync } from "esbuild"
import { OF_NODE_ALONE, ROOT, sourceFiles, workspaces } from "./Imports.ts"

const PURE = ["@svc/protocol", "@svc/domain", "@svc/verifier"]
const FACE = "packages/protocol/src/crypto/Sha256.ts"
const OF_ANY_RUNTIME = "packages/protocol/src/crypto/sha256/Sha256Noble.ts"

/** Effect asks the process whether it has a module of Node, which is no import. */
const IMPORT_OF_NODE = /\b(?:from|import|require) ?\(?["']node:/u

/** One bundle of sources. An import of Node's modules fails the build, unless it is one for Node. */
const bundled = (sources: ReadonlyArray<string>, options: BuildOptions) => {
  const contents = sources.map((path, index) => `export * as m${index} from "./${path}"`).join("\n")
  const { metafile, outputFiles = [] } = buildSync({
    stdin: { contents, resolveDir: ROOT },
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    mainFields: ["module", "main"],
    logLevel: "error",
    ...options
  })
  return { inputs: Object.keys(metafile?.inputs ?? {}), text: outputFiles.map(({ text }) => text).join("") }
}

/** The conditions of runtimes and of the bundlers for them, beside `import` and `default`. */
const RUNTIMES = {
  browsers: ["browser"],
  "web workers": ["worker", "browser"],
  workerd: ["workerd", "worker", "browser"],
  "edge runtimes": ["edge-light", "worker"],
  "React Native": ["react-native"],
  "pages with Node's modules": ["browser", "node"],
  Deno: ["deno", "node"],
  Bun: ["bun", "node"],
  "those that name none": []
}

describe("the pure packages", () => {
  it.each(["browser", "neutral"] as const)("have nothing of Node in a bundle for platform %s", (platform) => {
    const sources = workspaces()
      .filter(({ name }) => PURE.includes(name))
      .flatMap(sourceFiles)
      .filter(({ isTest }) => !isTest)
      .map(({ path }) => path)
      .filter((path) => path !== OF_NODE_ALONE)
    assert.isAbove(sources.length, 100)
    const { inputs, text } = bundled(sources, { platform })
    assert.include(inputs, OF_ANY_RUNTIME)
    assert.notInclude(inputs, OF_NODE_ALONE)
    assert.notMatch(text, IMPORT_OF_NODE)
  })

  it("have Node's SHA-256 in a bundle for Node, and when Node runs their sources", () => {
    const { inputs, text } = bundled([FACE], { platform: "node" })
    assert.includeMembers(inputs, [FACE, OF_NODE_ALONE])
    assert.notInclude(inputs, OF_ANY_RUNTIME)
    assert.match(text, IMPORT_OF_NODE)
    assert.strictEqual(createRequire(join(ROOT, FACE)).resolve("#sha256"), join(ROOT, OF_NODE_ALONE))
  })

  it.each(Object.entries(RUNTIMES))("have SHA-256 in JavaScript for %s", (_, conditions) => {
    const { inputs } = bundled([FACE], { platform: "neutral", conditions: ["import", ...conditions] })
    assert.include(inputs, OF_ANY_RUNTIME)
    assert.notInclude(inputs, OF_NODE_ALONE)
  })
})
