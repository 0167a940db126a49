import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { nodeFault, OLDEST_NODE } from "@svc/cli/start/Version"
import { ENGINES } from "../scripts/pack/PackageManifest.ts"
import { publishedWorkspaces } from "../scripts/pack/PublishedWorkspaces.ts"
import { ROOT, sourceFiles, workspaces } from "./Imports.ts"

type Version = readonly [major: number, minor: number]

/** What Node has had only since a version, by how it is written. */
const SINCE: ReadonlyArray<readonly [RegExp, Version]> = [
  [/\bAbortSignal\.any\(/u, [20, 3]],
  [/\bimport\.meta\.(?:dirname|filename)\b/u, [20, 11]],
  [/\b(?:Map|Object)\.groupBy\(/u, [21, 0]],
  [/\bimport \{[^}]*\bhash\b[^}]*\} from "node:crypto"/u, [21, 7]],
  [/\bPromise\.withResolvers\b/u, [22, 0]],
  [/\bArray\.fromAsync\(/u, [22, 0]],
  [
    /\.(?:union|intersection|difference|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom)\(/u,
    [22, 0]
  ],
  [/\bIterator\.from\(/u, [22, 0]],
  [
    /\.(?:keys|values|entries)\(\)\s*\.(?:map|filter|take|drop|flatMap|reduce|toArray|forEach|some|every|find)\(/u,
    [22, 0]
  ],
  [/\bnew WebSocket\(/u, [22, 0]],
  [/\bURL\.parse\(/u, [22, 1]],
  [/\bprocess\.getBuiltinModule\(/u, [22, 3]],
  [/\bnode:sqlite\b/u, [22, 5]],
  [/\bPromise\.try\(/u, [24, 0]],
  [/\bRegExp\.escape\(/u, [24, 0]],
  [/\bError\.isError\(/u, [24, 0]],
  [/\bnew (?:URLPattern|Float16Array|DisposableStack|AsyncDisposableStack)\(/u, [24, 0]],
  [/^\s*(?:await )?using \w+ =/mu, [24, 0]],
  [/\bUint8Array\.from(?:Base64|Hex)\(|\.to(?:Base64|Hex)\(\)/u, [25, 0]]
]

const versionOf = (range: string | undefined): Version => {
  const [, major, minor = "0"] = /^>=(\d+)(?:\.(\d+))?$/u.exec(range ?? "") ?? []
  if (major === undefined) throw new Error(`${range} is not a range such as >=22.19`)
  return [Number(major), Number(minor)]
}

const isLater = ([major, minor]: Version, than: Version): boolean =>
  major > than[0] || (major === than[0] && minor > than[1])

const lacking = (text: string, oldest: Version): ReadonlyArray<string> =>
  SINCE.filter(([, since]) => isLater(since, oldest)).flatMap(([written]) => written.exec(text)?.[0] ?? [])

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gmu, "")

const rootEngines = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).engines

describe("the versions of Node that package.json names", () => {
  it("have what the published packages use", () => {
    const all = workspaces()
    const offences = publishedWorkspaces().flatMap(({ folder, manifest }) => {
      const workspace = all.find((each) => each.folder === folder)!
      const oldest = versionOf((manifest.engines ?? ENGINES).node)
      const files = sourceFiles(workspace).filter(({ isTest }) => !isTest)
      assert.isNotEmpty(files, folder)
      return files.flatMap(({ path, text }) =>
        lacking(withoutComments(text), oldest).map((api) => `${path}: ${api}`)
      )
    })
    assert.deepStrictEqual(offences, [])
  })

  it("have what starts the commands of this repository", () => {
    for (const script of ["scripts/run.mjs", "scripts/launched.mjs"])
      assert.deepStrictEqual(
        lacking(readFileSync(join(ROOT, script), "utf8"), versionOf(rootEngines.node)),
        []
      )
  })

  it("are the ones that svc starts on, and it says so on an older one", () => {
    assert.strictEqual(OLDEST_NODE, ENGINES.node)
    for (const node of ["22.19.0", "22.20.1", "24.0.0", "100.1.0"]) assert.isUndefined(nodeFault(node), node)
    for (const node of ["20.20.2", "22.18.0", "8.17.0"])
      assert.strictEqual(nodeFault(node), `svc: this is Node ${node}; it needs 22.19 or later`)
  })

  it("are found too old for what came later", () => {
    const used = "Map.groupBy(all, of); Promise.try(run); map.values().map(of)"
    assert.deepStrictEqual(lacking(used, [20, 0]), ["Map.groupBy(", ".values().map(", "Promise.try("])
    assert.deepStrictEqual(lacking(used, [22, 19]), ["Promise.try("])
  })
})
