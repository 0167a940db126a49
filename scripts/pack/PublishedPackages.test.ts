import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync
} from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { buildSync } from "esbuild"
import { publint } from "publint"
import { inject } from "vitest"
import { ROOT } from "../../checks/Imports.ts"
import { oldestNode, output } from "./InstalledPackages.ts"
import { contentsOf, PINNED_CONTENTS } from "./PinnedContents.ts"
import type { Tarball } from "./Tarballs.ts"

/** Longest that the oldest Node may take to install, in milliseconds. */
const SETUP_MS = 300_000

/** What needs a runner of tests or fast-check, which its users install themselves. */
const FOR_TEST_RUNNERS =
  /^(?:@svc\/testkit\/(?:SignerSuite|StoreContract|Arbitraries|LifecycleCommands|LifecycleProperty)|svc\/testkit\/properties)$/u

const LIFECYCLE = {
  decision: "ALLOW",
  outcome: "COMMITTED",
  proven: [
    "mandate.created",
    "mandate.approved",
    "authorization.reserved",
    "authorization.committed",
    "mandate.consumed"
  ]
}

const FRONT = { state: "PENDING_APPROVAL", page: 200, asset: "text/javascript; charset=utf-8" }

const installed = inject("installed")
let nodes: ReadonlyArray<string> = []

const inFolder = (...path: ReadonlyArray<string>) => join(installed.folder, ...path)

/** Where a package is installed. */
const placeOf = ({ name }: Tarball): string => inFolder("node_modules", ...name.split("/"))

/** What users import: every entry of every package. */
const entries = (): ReadonlyArray<string> =>
  installed.tarballs
    .flatMap(({ name, entries }) => entries.map((entry) => `${name}${entry.slice(1)}`))
    .filter((entry) => !entry.endsWith("/package.json") && !FOR_TEST_RUNNERS.test(entry))

/** A file that imports every entry. */
const everything = (): string =>
  [
    ...entries().map((entry, index) => `import * as m${index} from "${entry}"`),
    `export const modules = [${entries().map((_, index) => `m${index}`)}]`,
    ""
  ].join("\n")

const USER_CODE = ["everything.ts", "embedded.ts", "front.ts", "node.ts"]

const compile = (module: string, moduleResolution: string, outDir: string): string => {
  const compilerOptions = {
    target: "ES2024",
    lib: ["ES2024", "DOM", "DOM.Iterable"],
    types: ["node"],
    module,
    moduleResolution,
    outDir,
    rootDir: ".",
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    rewriteRelativeImportExtensions: true
  }
  const project = `${outDir}.json`
  writeFileSync(inFolder(project), JSON.stringify({ compilerOptions, files: USER_CODE }))
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc")
  return output(process.execPath, [compiler, "--pretty", "false", "-p", project], installed.folder)
}

/** What a program prints on each Node, as JSON. */
const printed = (args: ReadonlyArray<string>, folder = installed.folder): ReadonlyArray<unknown> =>
  nodes.map((node) => JSON.parse(output(node, args, folder)))

const onEachNode = <A>(value: A): ReadonlyArray<A> => nodes.map(() => value)

/** ES modules have no `require`, which the bundled CommonJS modules call for those of Node. */
const REQUIRE =
  'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);'

const bundle = (entryPoints: Array<string>, outdir: string, banner = ""): void => {
  buildSync({
    entryPoints,
    outdir,
    bundle: true,
    format: "esm",
    platform: "node",
    entryNames: "[name]",
    outExtension: { ".js": ".mjs" },
    banner: { js: banner },
    // In a bundle, the example would take itself for the program that was started.
    define: { "import.meta.main": "false" },
    logLevel: "error"
  })
}

beforeAll(() => {
  const older = oldestNode()
  nodes = older === undefined ? [process.execPath] : [process.execPath, older]
  const example = join(ROOT, "examples", "quickstart", "src")
  for (const file of ["embedded.ts", "ClosedOutput.ts"]) copyFileSync(join(example, file), inFolder(file))
  for (const file of ["front.ts", "node.ts", "lifecycle.mjs", "required.cjs"]) {
    copyFileSync(join(ROOT, "scripts", "pack", "installed", file), inFolder(file))
  }
  writeFileSync(inFolder("everything.ts"), everything())
}, SETUP_MS)

describe("the tarballs", () => {
  it("contain what contents.txt says", () => {
    assert.strictEqual(
      contentsOf(installed.tarballs),
      readFileSync(PINNED_CONTENTS, "utf8"),
      "if the change is meant, record it with `npm run pack -- --pin` and commit scripts/pack/contents.txt"
    )
  })

  it("hold neither tests nor sources, and have no entry with a wildcard", () => {
    const files = installed.tarballs.flatMap(({ files }) => files)
    assert.isAbove(files.length, 100)
    assert.deepStrictEqual(
      files.filter((file) => /\.test\.|(?<!\.d)\.ts$/u.test(file)),
      []
    )
    assert.deepStrictEqual(
      installed.tarballs.flatMap(({ entries }) => entries).filter((entry) => entry.includes("*")),
      []
    )
  })

  it("name one version and the licence of the root", () => {
    const root = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
    const said = installed.tarballs.map((tarball) =>
      JSON.parse(readFileSync(join(placeOf(tarball), "package.json"), "utf8"))
    )
    assert.deepStrictEqual([...new Set(said.map(({ license }) => license))], [root.license])
    assert.lengthOf([...new Set(said.map(({ version }) => version))], 1)
  })

  it("have nothing that publint finds", async () => {
    for (const { file, name } of installed.tarballs) {
      const { buffer, byteLength, byteOffset } = readFileSync(file)
      const tarball = buffer.slice(byteOffset, byteOffset + byteLength)
      const { messages } = await publint({ pack: { tarball }, strict: true })
      assert.deepStrictEqual([name, messages], [name, []])
    }
  })

  it("have types that resolve from ES modules and from bundlers, and are those of what runs", async () => {
    for (const { file, name } of installed.tarballs) {
      const result = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(file))))
      if (result.types === false) throw new Error(`${name} has no types`)
      // CommonJS requires ES modules from Node 22.12 on, which is tried below.
      const found = result.problems.filter(
        (problem) => !("resolutionKind" in problem && /^node1(?:0|6-cjs)$/u.test(problem.resolutionKind))
      )
      assert.deepStrictEqual([name, found], [name, []])
    }
  })

  it("have source maps with the source that each module was compiled from", () => {
    const maps = installed.tarballs.flatMap((tarball) =>
      tarball.files.filter((file) => file.endsWith(".js.map")).map((file) => join(placeOf(tarball), file))
    )
    const folders = ["packages", "adapters"].map((group) => join(ROOT, group))
    const unknown = maps.filter((file) => {
      const { sources, sourcesContent } = JSON.parse(readFileSync(file, "utf8"))
      const [, inPackage = ""] = resolve(file, "..", sources[0]).split("/src/")
      const name = basename(file.slice(0, file.indexOf("/dist/")))
      const places = folders.map((folder) => join(folder, name, "src", inPackage))
      return !places.some((place) => existsSync(place) && readFileSync(place, "utf8") === sourcesContent[0])
    })
    assert.deepStrictEqual(unknown, [])
  })
})

describe("installed from the tarballs alone", () => {
  it("the packages lie in the folder, and lead nowhere else", () => {
    const folder = realpathSync(installed.folder)
    assert.deepStrictEqual(
      installed.tarballs.map((tarball) => realpathSync(placeOf(tarball))),
      installed.tarballs.map((tarball) => join(folder, placeOf(tarball).slice(installed.folder.length)))
    )
  })

  it("they compile with declarations checked, and run the lifecycle on each Node", () => {
    assert.strictEqual(compile("NodeNext", "NodeNext", "out"), "")
    assert.deepStrictEqual(printed(["lifecycle.mjs"]), onEachNode(LIFECYCLE))
    assert.deepStrictEqual(printed(["out/front.js"]), onEachNode(FRONT))
  })

  it("they compile for bundlers", () => {
    assert.strictEqual(compile("ESNext", "Bundler", "bundler"), "")
  })

  it("they hash by Node on Node and by JavaScript in a browser", () => {
    const face = inFolder("node_modules", "@svc", "protocol", "dist", "crypto", "Sha256.js")
    const hashed = `import("${face}").then((face) => console.log(JSON.stringify(face.sha256Base64Url("abc"))))`
    assert.deepStrictEqual(
      printed(["--eval", hashed]),
      onEachNode("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0")
    )
    const chosen = (platform: "node" | "browser", from: string) => {
      const { metafile } = buildSync({
        stdin: { contents: `import "${from}"`, resolveDir: installed.folder },
        bundle: true,
        write: false,
        metafile: true,
        platform,
        ignoreAnnotations: true,
        logLevel: "error"
      })
      const hashes = Object.keys(metafile.inputs).filter((input) => input.includes("/crypto/sha256/"))
      return hashes.map((input) => basename(input))
    }
    for (const from of ["@svc/protocol/crypto/Sha256", "@svc/verifier"]) {
      assert.deepStrictEqual(chosen("node", from), ["Sha256NodeCrypto.js"])
      assert.deepStrictEqual(chosen("browser", from), ["Sha256Noble.js"])
    }
  })

  it("every entry can be required", () => {
    assert.isAbove(entries().length, 50)
    assert.deepStrictEqual(printed(["required.cjs", ...entries()]), onEachNode([]))
  })

  it("a bundle starts in a folder with nothing else", () => {
    const bundles = join(installed.folder, "..", "bundles")
    const entryPoints = ["lifecycle.mjs", "out/front.js"]
    bundle(
      entryPoints.map((file) => inFolder(file)),
      bundles
    )
    assert.deepStrictEqual(printed(["lifecycle.mjs"], bundles), onEachNode(LIFECYCLE))
    assert.deepStrictEqual(printed(["front.mjs"], bundles), onEachNode(FRONT))
  })

  it("a bundle of the handler for node:http starts with a require for what of it is CommonJS", () => {
    const bundles = join(installed.folder, "..", "bundles-of-handlers")
    bundle([inFolder("out", "node.js")], bundles, REQUIRE)
    assert.deepStrictEqual(printed(["node.mjs"], bundles), onEachNode({ status: 200 }))
  })

  it("the programs of docs/testing pass under node --test", () => {
    const example = join(ROOT, "examples", "property-testing", "src")
    const folder = inFolder("property-testing")
    mkdirSync(folder)
    const programs = readdirSync(example).filter((file) => !file.endsWith(".test.ts"))
    for (const file of programs) copyFileSync(join(example, file), join(folder, file))
    const specs = programs.filter((file) => file.endsWith(".spec.ts"))
    const report = output(process.execPath, ["--test", "--test-reporter=spec", ...specs], folder)
    assert.isAbove(specs.length, 0)
    assert.match(report, /^ℹ pass [1-9]/mu)
    assert.match(report, /^ℹ fail 0$/mu)
  })

  it("the command that docs/operate/install.md installs says its version", { timeout: SETUP_MS }, () => {
    const page = readFileSync(join(ROOT, "docs", "operate", "install.md"), "utf8")
    const [commands = ""] = page.match(/(?<=```sh\n)npm install [\s\S]*?(?=```)/u) ?? []
    const place = join(installed.folder, "..", "opt")
    const from = dirname(installed.tarballs[0]?.file ?? "")
    const said = commands.replaceAll("/opt/", `${place}/`).replace("FOLDER", from)
    // What npm has downloaded before is not downloaded again, and it says nothing of its own.
    const quiet = "export npm_config_prefer_offline=true npm_config_audit=false npm_config_loglevel=silent\n"
    const { version } = JSON.parse(readFileSync(join(ROOT, "adapters", "cli", "package.json"), "utf8"))
    assert.match(output("/bin/sh", ["-ec", quiet + said], ROOT, SETUP_MS), new RegExp(`^${version}$`, "mu"))
  })

  it("the command says its version", () => {
    const { version } = JSON.parse(
      readFileSync(inFolder("node_modules", "@svc", "cli", "package.json"), "utf8")
    )
    const command = inFolder("node_modules", ".bin", "svc")
    assert.deepStrictEqual(
      nodes.map((node) => output(node, [command, "--version"], installed.folder)),
      onEachNode(`${version}\n`)
    )
  })

  it("the command carries the evidence viewer", () => {
    const command = inFolder("node_modules", ".bin", "svc")
    assert.strictEqual(
      output(process.execPath, [command, "evidence", "viewer"], installed.folder),
      readFileSync(join(ROOT, "packages", "viewer", "src", "assets", "viewer.html"), "utf8")
    )
  })
})
