/** Which workspaces are published, and what of them. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { ROOT } from "../../checks/Imports.ts"

/** The member `published` of a workspace's package.json. */
export interface Published {
  /**
   * Modules that users import, relative to `src` and without extension; `ports/*` stands for those directly in a folder.
   * Modules that other published packages import are published as well.
   */
  readonly modules: ReadonlyArray<string>
  /** Dependencies that only some of the modules need, and that a user of these installs. */
  readonly optional?: ReadonlyArray<string>
}

/** What a workspace's package.json says. */
export interface WorkspaceManifest {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly engines?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | null>>
  /** Names that the package has for modules of its own, each with its module under each condition. */
  readonly imports?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly published?: Published
}

export interface PublishedWorkspace {
  /** Folder relative to the root, with forward slashes. */
  readonly folder: string
  readonly manifest: WorkspaceManifest
  /** Entries of `exports` that are known before anything is compiled, each with its module. */
  readonly entries: ReadonlyMap<string, string>
  /** Commands, each with its module. */
  readonly commands: ReadonlyMap<string, string>
  /** Its own names for modules, such as `#sha256`, each with the module under each condition, in order. */
  readonly internal: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** Whether modules that other packages import become entries too. */
  readonly isOpen: boolean
}

const SOURCE = /^\.\/src\/(.+)\.ts$/u

const moduleOf = (name: string, target: unknown): string => {
  const module = typeof target === "string" ? SOURCE.exec(target)?.[1] : undefined
  if (module === undefined) throw new Error(`${name}: ${JSON.stringify(target)} is not a file ./src/*.ts`)
  return module
}

const modulesIn = (folder: string, pattern: string): ReadonlyArray<string> => {
  if (!pattern.endsWith("/*")) return [pattern]
  const room = pattern.slice(0, -2)
  return readdirSync(join(ROOT, folder, "src", room))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .sort()
    .map((file) => `${room}/${file.slice(0, -".ts".length)}`)
}

/** Nothing if the workspace is not published. */
const published = (folder: string, manifest: WorkspaceManifest): PublishedWorkspace | undefined => {
  const { name, exports = {}, imports = {}, bin = {}, published: declared } = manifest
  const commands = new Map(Object.entries(bin).map(([command, target]) => [command, moduleOf(name, target)]))
  const internal = new Map(
    Object.entries(imports).map(([own, targets]) => [
      own,
      new Map(Object.entries(targets).map(([condition, target]) => [condition, moduleOf(name, target)]))
    ])
  )
  const isOpen = Object.keys(exports).some((entry) => entry.includes("*"))
  if (declared !== undefined) {
    const modules = declared.modules.flatMap((pattern) => modulesIn(folder, pattern))
    const entries = new Map(modules.map((module) => [`./${module}`, module]))
    return { folder, manifest, commands, internal, isOpen, entries }
  }
  const named = Object.entries(exports).filter(
    ([entry, target]) => target !== null && entry !== "./package.json"
  )
  if (isOpen || named.length === 0) return undefined
  const entries = new Map(named.map(([entry, target]) => [entry, moduleOf(name, target)]))
  return { folder, manifest, commands, internal, isOpen, entries }
}

/**
 * The workspaces that are published: those whose package.json has a member `published`, and those whose `exports` names
 * each entry.
 */
export const publishedWorkspaces = (): ReadonlyArray<PublishedWorkspace> =>
  ["packages", "adapters"].flatMap((group) =>
    readdirSync(join(ROOT, group))
      .sort()
      .flatMap((entry) => {
        const file = join(ROOT, group, entry, "package.json")
        if (!existsSync(file)) return []
        return published(`${group}/${entry}`, JSON.parse(readFileSync(file, "utf8"))) ?? []
      })
  )
