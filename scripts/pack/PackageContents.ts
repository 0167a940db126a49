import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { packageOf } from "../../checks/Imports.ts"
import { importsOf, isOwn } from "./PackageNames.ts"
import type { PublishedWorkspace } from "./PublishedWorkspaces.ts"

/** What a package consists of. */
export interface PackageContents {
  readonly workspace: PublishedWorkspace
  /** Entries of `exports`, each with its module. */
  readonly entries: ReadonlyMap<string, string>
  /** Everything that the entries and the commands reach, relative to `src` and without extension. */
  readonly modules: ReadonlyArray<string>
  /** Imports of other packages, by what runs and by the declarations. */
  readonly imports: {
    readonly code: ReadonlySet<string>
    readonly declarations: ReadonlySet<string>
  }
}

interface Growing extends PackageContents {
  readonly entries: Map<string, string>
  readonly modules: Array<string>
  readonly imports: { readonly code: Set<string>; readonly declarations: Set<string> }
}

const started = (workspace: PublishedWorkspace): Growing => ({
  workspace,
  entries: new Map(workspace.entries),
  modules: [],
  imports: { code: new Set(), declarations: new Set() }
})

/** The module that a package's own import reaches; an entry is added for it where the package is open. */
const reached = (specifier: string, by: string, packages: ReadonlyMap<string, Growing>) => {
  const target = packages.get(packageOf(specifier))
  if (target === undefined) throw new Error(`${by} imports ${specifier}, whose package is not published`)
  const subpath = specifier.slice(packageOf(specifier).length + 1)
  const entry = subpath === "" ? "." : `./${subpath}`
  const known = target.entries.get(entry)
  if (known !== undefined) return { target, module: known }
  if (!target.workspace.isOpen)
    throw new Error(`${by} imports ${specifier}, which is no entry of its package`)
  target.entries.set(entry, subpath)
  return { target, module: subpath }
}

/**
 * Follows the imports of compiled code and declarations from the entries and commands of all packages. A package holds
 * what is reached and nothing else.
 */
export const packageContents = (
  workspaces: ReadonlyArray<PublishedWorkspace>,
  compiled: string
): ReadonlyArray<PackageContents> => {
  const packages = new Map(workspaces.map((workspace) => [workspace.manifest.name, started(workspace)]))
  const waiting = [...packages.values()].flatMap((target) =>
    [...target.entries.values(), ...target.workspace.commands.values()].map((module) => ({ target, module }))
  )
  const follow = (from: Growing, module: string, specifier: string, kind: "code" | "declarations"): void => {
    if (specifier.startsWith(".")) {
      const path = join("/", dirname(module), specifier)
        .slice(1)
        .replace(/\.[jt]s$/u, "")
      waiting.push({ target: from, module: path })
      return
    }
    if (specifier.startsWith("node:")) return
    if (specifier.startsWith("#")) {
      const modules = from.workspace.internal.get(specifier)
      if (modules === undefined) throw new Error(`${module} imports ${specifier}, which stands for nothing`)
      for (const internal of modules.values()) waiting.push({ target: from, module: internal })
      return
    }
    if (packageOf(specifier) !== from.workspace.manifest.name) from.imports[kind].add(packageOf(specifier))
    if (isOwn(specifier)) waiting.push(reached(specifier, `${from.workspace.folder}/src/${module}`, packages))
  }
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { target, module } = next
    if (target.modules.includes(module)) continue
    target.modules.push(module)
    const read = (extension: string) =>
      importsOf(readFileSync(join(compiled, target.workspace.folder, "src", `${module}${extension}`), "utf8"))
    for (const specifier of read(".js")) follow(target, module, specifier, "code")
    for (const specifier of read(".d.ts")) follow(target, module, specifier, "declarations")
  }
  return [...packages.values()]
}
