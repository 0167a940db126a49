import { assert, describe, it } from "@effect/vitest"
import {
  OF_NODE_ALONE,
  packageOf,
  resolveImport,
  type SourceFile,
  sourceFiles,
  workspaces
} from "./Imports.ts"

const all = workspaces()
const files = all.flatMap(sourceFiles)
const production = files.filter((file) => !file.isTest)
const named = (name: string) => production.filter((file) => file.workspace.name === name)

/** Modules of `effect` that carry its stability promise; everything else of it stays in adapters. */
const STABLE_EFFECT =
  /^effect(\/(Context|Data|Effect|Layer|Option|Redacted|Result|Schema|SchemaIssue|Semaphore))?$/

/** What each kind of package may build on: protocol <- domain <- adapters <- examples. The command and the library put adapters together. */
const MAY_IMPORT: ReadonlyArray<readonly [RegExp, RegExp]> = [
  [/^@svc\/protocol$/, /^$/],
  [/^@svc\/client$/, /^$/],
  [/^@svc\/domain$/, /^@svc\/protocol$/],
  [/^@svc\/testkit$/, /^@svc\/(protocol|domain)$/],
  [/^@svc\/simulator$/, /^@svc\/(protocol|domain|testkit|store-memory|store-postgres)$/],
  [/^@svc\/fuzzing$/, /^(?!@svc\/(?:example-|cli$))/],
  [/^@svc\/cli$/, /^@svc\/(?!testkit|example-|cli$)/],
  [/^svc$/, /^@svc\/(?!example-|cli$)/],
  [/^@svc\/example-/, /^@svc\/(?!example-)/],
  [/^@svc\//, /^@svc\/(protocol|domain)$/]
]

/** The rooms of the domain. Each may import from those of its own line and of earlier lines. */
const DOMAIN_LAYERS: ReadonlyArray<ReadonlyArray<string>> = [
  ["calendar"],
  ["mandate", "policy", "approval", "webhook", "organization"],
  ["ports"],
  ["engine"],
  ["programs"],
  ["workers"]
]

/** Rooms of rules, which decide in synchronous functions: what they import of `effect` is values. */
const SYNCHRONOUS = /^packages\/domain\/src\/(?:calendar|mandate|policy)\//
const EFFECTS = /import (?:type )?\{[^}]*\b(?:Effect|Layer|Context)\b[^}]*\} from "effect"/

/** The rooms of the domain that each adapter builds on, beside the ports that it implements or calls. */
const ROOMS_OF_ADAPTERS: Readonly<Record<string, ReadonlyArray<string>>> = {
  "@svc/cli": ["organization", "webhook", "workers", "approval", "programs"],
  "@svc/guarded-http": ["webhook"],
  "@svc/http-server": ["programs", "approval", "organization", "webhook", "engine", "Refusals"],
  "@svc/identity-jwt": ["organization"],
  "@svc/kms": [],
  "@svc/passkey-webauthn": ["approval"],
  "@svc/signer": ["engine"],
  "@svc/store-memory": ["mandate", "webhook", "approval", "organization", "engine"],
  "@svc/store-postgres": ["mandate", "webhook", "approval", "organization", "engine"],
  "@svc/telemetry": ["webhook"],
  "@svc/time-zones": ["calendar"]
}

/** What examples need installed without an import: the framework that runs them, and what Nest loads or shares. */
const LOADED_BY_FRAMEWORKS: Readonly<Record<string, ReadonlyArray<string>>> = {
  "@svc/example-embed-in-nest": ["@nestjs/platform-express", "rxjs"],
  "@svc/example-next-route-handlers": ["next"]
}

/** The line of a file's room; -1 for what every room may import: the refusals and the identifiers. */
const layerOf = (path: string): number => {
  const room = /^packages\/domain\/src\/([^/]+)\//.exec(path)?.[1]
  return room === undefined ? -1 : DOMAIN_LAYERS.findIndex((rooms) => rooms.includes(room))
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")

const offences = (
  from: ReadonlyArray<SourceFile>,
  isOffence: (specifier: string, file: SourceFile) => boolean
): ReadonlyArray<string> =>
  from.flatMap((file) =>
    file.imports
      .filter((specifier) => isOffence(specifier, file))
      .map((specifier) => `${file.path} imports ${specifier}`)
  )

describe("dependencies", () => {
  it("finds the sources", () => {
    assert.isAbove(named("@svc/protocol").length, 20)
    assert.isAbove(named("@svc/domain").length, 20)
    assert.include(
      files.flatMap((file) => file.imports),
      "node:fs"
    )
  })

  it("keeps the domain and the protocol free of the platform, but for SHA-256 of Node on Node", () => {
    const pure = [...named("@svc/domain"), ...named("@svc/protocol")]
    assert.deepStrictEqual(
      offences(pure, (specifier) => specifier.startsWith("node:")),
      [`${OF_NODE_ALONE} imports node:crypto`]
    )
    const impure =
      /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|process\.|Buffer\.|crypto\.(subtle|getRandomValues|randomUUID)|setTimeout|setInterval|fetch\()/
    assert.deepStrictEqual(
      pure.filter((file) => impure.test(withoutComments(file.text))).map((file) => file.path),
      []
    )
  })

  it("reaches what differs between runtimes by names that stand for it, and no other way", () => {
    const internal = all.flatMap(({ internal }) => Object.values(internal)).flat()
    assert.include(internal, OF_NODE_ALONE)
    assert.deepStrictEqual(
      offences(production, (specifier, file) => internal.includes(resolveImport(file, specifier, all) ?? "")),
      []
    )
  })

  it("lets the domain import only stable modules of effect, noble and the protocol", () => {
    assert.deepStrictEqual(
      offences(
        named("@svc/domain"),
        (specifier) =>
          !specifier.startsWith(".") &&
          !STABLE_EFFECT.test(specifier) &&
          !specifier.startsWith("@noble/") &&
          packageOf(specifier) !== "@svc/protocol"
      ),
      []
    )
    assert.deepStrictEqual(
      offences(named("@svc/domain"), (specifier) => specifier.startsWith("@svc/protocol/api")),
      []
    )
  })

  it("lets the client import nothing but itself", () => {
    assert.isAbove(named("@svc/client").length, 10)
    assert.deepStrictEqual(
      offences(named("@svc/client"), (specifier) => !specifier.startsWith(".")),
      []
    )
    assert.deepStrictEqual(all.find(({ name }) => name === "@svc/client")?.dependencies, [])
  })

  it("lets the verifier import the rules of the domain, and neither ports nor effects", () => {
    const verifier = named("@svc/verifier")
    assert.isAbove(verifier.length, 10)
    assert.deepStrictEqual(
      offences(verifier, (specifier) => {
        if (specifier.startsWith(".") || packageOf(specifier) === "@svc/protocol") return false
        return !/^(?:@svc\/domain\/(?:calendar|mandate|policy|approval)\/|@noble\/hashes\/|effect\/Result$)/u.test(
          specifier
        )
      }),
      []
    )
  })

  it("points dependencies one way", () => {
    const allowed = (name: string) => MAY_IMPORT.find(([who]) => who.test(name))?.[1] ?? /^$/
    assert.deepStrictEqual(
      offences(production, (specifier, { workspace }) => {
        const target = packageOf(specifier)
        return (
          target.startsWith("@svc/") && target !== workspace.name && !allowed(workspace.name).test(target)
        )
      }),
      []
    )
  })

  it("lets the library import the testkit for its own entry for tests alone", () => {
    assert.deepStrictEqual(
      offences(
        named("svc").filter(({ path }) => !/^packages\/svc\/src\/testkit(?:\.ts$|\/)/u.test(path)),
        (specifier) => packageOf(specifier) === "@svc/testkit" || specifier.startsWith("./testkit")
      ),
      []
    )
  })

  it("points the rooms of the domain one way", () => {
    assert.deepStrictEqual(
      named("@svc/domain")
        .filter(({ path }) => layerOf(path) === -1)
        .map(({ path }) => path),
      ["packages/domain/src/Identifiers.ts", "packages/domain/src/Refusals.ts"]
    )
    assert.deepStrictEqual(
      offences(named("@svc/domain"), (specifier, file) => {
        const target = specifier.startsWith(".") ? resolveImport(file, specifier, all) : undefined
        return target !== undefined && layerOf(file.path) >= 0 && layerOf(target) > layerOf(file.path)
      }),
      []
    )
  })

  it("keeps the rooms of rules free of effects", () => {
    const rules = named("@svc/domain").filter(({ path }) => SYNCHRONOUS.test(path))
    assert.isAbove(rules.length, 20)
    assert.deepStrictEqual(
      rules.filter(({ text }) => EFFECTS.test(text)).map(({ path }) => path),
      []
    )
  })

  it("lets an adapter build on the ports and on the rooms named for it alone", () => {
    const adapters = production.filter(({ path }) => path.startsWith("adapters/"))
    assert.sameMembers(
      [...new Set(adapters.map(({ workspace }) => workspace.name))],
      Object.keys(ROOMS_OF_ADAPTERS)
    )
    assert.deepStrictEqual(
      offences(adapters, (specifier, { workspace }) => {
        const room = /^@svc\/domain\/([^/]+)/.exec(specifier)?.[1]
        return room !== undefined && room !== "ports" && !ROOMS_OF_ADAPTERS[workspace.name]?.includes(room)
      }),
      []
    )
  })

  it("crosses packages by their names, never by paths", () => {
    assert.deepStrictEqual(
      files.flatMap((file) =>
        file.imports
          .filter((specifier) => specifier.startsWith("."))
          .map((specifier) => resolveImport(file, specifier, all) ?? "")
          .filter((target) => !target.startsWith(`${file.workspace.folder}/`))
          .map((target) => `${file.path} reaches ${target}`)
      ),
      []
    )
  })

  it("declares what it imports, and nothing else", () => {
    const wrong = all.flatMap((workspace) => {
      const own = files.filter((file) => file.workspace === workspace)
      const used = new Set(
        own
          .filter((file) => !file.isTest)
          .flatMap((file) => file.imports)
          .filter((specifier) => !/^(?:\.|#|node:)/u.test(specifier))
          .map(packageOf)
          .filter((name) => name !== workspace.name)
      )
      const missing = [...used].filter((name) => !workspace.dependencies.includes(name))
      const loaded = LOADED_BY_FRAMEWORKS[workspace.name] ?? []
      const idle = workspace.dependencies.filter((name) => !used.has(name) && !loaded.includes(name))
      return [
        ...missing.map((name) => `${workspace.name} imports ${name} undeclared`),
        ...idle.map((name) => `${workspace.name} declares ${name} for nothing`)
      ]
    })
    assert.deepStrictEqual(wrong, [])
  })

  it("has no cycle", () => {
    const graph = new Map(
      production.map((file) => [
        file.path,
        file.imports.flatMap(
          (specifier) => file.workspace.internal[specifier] ?? resolveImport(file, specifier, all) ?? []
        )
      ])
    )
    const done = new Set<string>()
    const cycles: Array<string> = []
    const visit = (path: string, trail: ReadonlyArray<string>): void => {
      if (trail.includes(path)) {
        cycles.push([...trail.slice(trail.indexOf(path)), path].join(" -> "))
        return
      }
      if (done.has(path)) return
      for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
      done.add(path)
    }
    for (const path of graph.keys()) visit(path, [])
    assert.deepStrictEqual(cycles, [])
  })
})
