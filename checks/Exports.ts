/** Reads what the published entries of a workspace export, and whether it is documented. */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { packageOf, ROOT, type Workspace, workspaces } from "./Imports.ts"

/** An exported name, and where it is declared. */
export interface ExportedName {
  readonly name: string
  /** Relative to the root, with forward slashes. */
  readonly path: string
  readonly isDocumented: boolean
  /** Whether its comment has an example. */
  readonly hasExample: boolean
  /** Whether it is there at run time. */
  readonly isValue: boolean
}

interface Manifest {
  readonly exports?: Readonly<Record<string, string>>
  readonly published?: { readonly modules: ReadonlyArray<string> }
}

const all = workspaces()

const manifestOf = ({ folder }: Workspace): Manifest =>
  JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8"))

/** The files of the entries that a workspace publishes under names of their own, relative to the root. */
export const entriesOf = (workspace: Workspace): ReadonlyArray<string> =>
  Object.values(manifestOf(workspace).exports ?? {})
    .filter((file) => !file.includes("*"))
    .map((file) => posix.join(workspace.folder, file))

/** The file that an import leads to; `undefined` for a package that is not ours. */
const fileOf = (from: string, specifier: string): string | undefined => {
  if (specifier.startsWith(".")) return posix.join(dirname(from), specifier)
  const workspace = all.find(({ name }) => name === packageOf(specifier))
  if (workspace === undefined) return undefined
  const subpath = `.${specifier.slice(workspace.name.length)}`
  const named = manifestOf(workspace).exports?.[subpath]
  const file = posix.join(workspace.folder, named ?? `src/${subpath}.ts`)
  return existsSync(join(ROOT, file)) ? file : undefined
}

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(const|function|class|interface|type|namespace) (\w+)/gmu
const REEXPORT = /^export (?:type )?(\*(?: as \w+)?|\{[^}]*\}) from "([^"]+)"/gmu

/** The doc comment that ends just before a place. */
const commentBefore = (text: string, at: number): string | undefined =>
  /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/u.exec(text.slice(0, at))?.[0]

const documentedAs = (comment: string | undefined): Pick<ExportedName, "isDocumented" | "hasExample"> => ({
  isDocumented: comment !== undefined,
  hasExample: comment?.includes("@example") === true
})

const declaredIn = (path: string, text: string): ReadonlyArray<ExportedName> => {
  const seen = new Map<string, ExportedName>()
  for (const { 1: kind = "", 2: name = "", index } of text.matchAll(DECLARATION)) {
    const isValue = kind !== "interface" && kind !== "type"
    // An overload, or a type beside the value of its name, is documented with the first.
    if (!seen.has(name)) seen.set(name, { name, path, isValue, ...documentedAs(commentBefore(text, index)) })
  }
  return [...seen.values()]
}

/** The names in braces, each as it is called where it is declared and as it is exported. */
const namesIn = (braces: string): ReadonlyArray<readonly [declared: string, exported: string]> =>
  braces
    .slice(1, -1)
    .split(",")
    .map((part) => part.trim().replace(/^type /u, ""))
    .filter((part) => part !== "")
    .map((part) => {
      const [declared = "", exported = declared] = part.split(" as ")
      return [declared, exported]
    })

const reexportedBy = (path: string, text: string): ReadonlyArray<ExportedName> =>
  [...text.matchAll(REEXPORT)].flatMap(({ 1: what = "", 2: specifier = "", index }) => {
    if (what.startsWith("* as "))
      return [
        {
          name: what.slice("* as ".length),
          path,
          isValue: false,
          ...documentedAs(commentBefore(text, index))
        }
      ]
    const file = fileOf(path, specifier)
    if (file === undefined) return []
    const names = exportedNames(file)
    if (what === "*") return names
    return namesIn(what).map(([declared, exported]) => {
      const found = names.find(({ name }) => name === declared)
      return { path: file, isValue: false, ...documentedAs(undefined), ...found, name: exported }
    })
  })

/** Everything that a module exports, by whatever modules it comes. */
export const exportedNames = (path: string): ReadonlyArray<ExportedName> => {
  const text = readFileSync(join(ROOT, path), "utf8")
  return [...declaredIn(path, text), ...reexportedBy(path, text)]
}
