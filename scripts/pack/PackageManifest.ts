import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ROOT } from "../../checks/Imports.ts"
import type { PackageContents } from "./PackageContents.ts"
import { isOwn, type PublishedNames, publishedName } from "./PackageNames.ts"
import type { PublishedWorkspace } from "./PublishedWorkspaces.ts"

/** Versions of Node that the packages run on: the lowest is the one that undici 8 and `@effect/platform-node` need. */
export const ENGINES = { node: ">=22.19" }

/** Packages of which a process should have one copy: where their types appear in declarations, the user brings them. */
const SHARED = new Set(["effect"])

/** The licence of every package is that of the root. */
export const licence = (): string => JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).license

type Dependencies = Readonly<Record<string, string>>

interface Requirements {
  readonly dependencies: Dependencies
  readonly peerDependencies: Dependencies
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>
}

const sorted = (entries: Iterable<readonly [string, string]>): Dependencies =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)))

/** What a package needs: only what its modules import, at the versions that the workspace names. */
const requirements = ({ workspace, imports }: PackageContents, names: PublishedNames): Requirements => {
  const {
    name,
    dependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
    published
  } = workspace.manifest
  const direct: Array<[string, string]> = []
  const peers: Array<[string, string]> = Object.entries(peerDependencies)
  const optional: Array<string> = []
  for (const used of new Set([...imports.code, ...imports.declarations])) {
    if (used in peerDependencies) continue
    const version = dependencies[used]
    if (version === undefined) throw new Error(`${name} imports ${used}, which is not among its dependencies`)
    const isOptional = published?.optional?.includes(used) === true
    if (isOptional) optional.push(used)
    if (isOwn(used)) direct.push([publishedName(used, names), version])
    else if (isOptional || (SHARED.has(used) && imports.declarations.has(used)))
      peers.push([used, `^${version}`])
    else direct.push([used, version])
  }
  return {
    dependencies: sorted(direct),
    peerDependencies: sorted(peers),
    peerDependenciesMeta: {
      ...peerDependenciesMeta,
      ...Object.fromEntries(optional.map((used) => [used, { optional: true }]))
    }
  }
}

const exported = (entries: ReadonlyMap<string, string>) =>
  Object.fromEntries(
    [...entries]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([entry, module]) => [entry, { types: `./dist/${module}.d.ts`, default: `./dist/${module}.js` }])
  )

/** Each name that a package has for modules of its own, under the conditions of the workspace. */
const internalNames = (internal: PublishedWorkspace["internal"]) =>
  Object.fromEntries(
    [...internal].map(([name, modules]) => [
      name,
      Object.fromEntries(
        [...modules].map(([condition, module]) => [
          condition,
          `./dist/${module}.${condition === "types" ? "d.ts" : "js"}`
        ])
      )
    ])
  )

const unlessEmpty = (member: string, value: object) =>
  Object.keys(value).length === 0 ? {} : { [member]: value }

/** The package.json of a package as it is published. */
export const packageManifest = (contents: PackageContents, names: PublishedNames): object => {
  const { manifest, commands, internal } = contents.workspace
  const { name, version, description, engines = ENGINES } = manifest
  const needs = requirements(contents, names)
  return {
    name: publishedName(name, names),
    version,
    ...(description === undefined ? {} : { description }),
    license: licence(),
    type: "module",
    sideEffects: false,
    engines,
    exports: { ...exported(contents.entries), "./package.json": "./package.json" },
    ...unlessEmpty("imports", internalNames(internal)),
    ...unlessEmpty(
      "bin",
      Object.fromEntries([...commands].map(([command, module]) => [command, `dist/${module}.js`]))
    ),
    files: ["dist", "CHANGELOG.md"],
    ...unlessEmpty("dependencies", needs.dependencies),
    ...unlessEmpty("peerDependencies", needs.peerDependencies),
    ...unlessEmpty("peerDependenciesMeta", needs.peerDependenciesMeta),
    publishConfig: { access: "restricted" }
  }
}
