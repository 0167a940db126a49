/** Reads which modules the sources of this repository import. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, posix, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

export interface Workspace {
  readonly name: string
  /** Folder relative to the root, with forward slashes. */
  readonly folder: string
  readonly dependencies: ReadonlyArray<string>
  /** The files that each name of its own, such as `#sha256`, stands for under some condition. */
  readonly internal: Readonly<Record<string, ReadonlyArray<string>>>
}

/**
 * The one source of the pure packages that is of Node, whose SHA-256 takes about a sixth of the time that JavaScript takes for
 * it, and that was nearly a tenth of a busy server's main thread. It depends on its argument alone, and every other runtime has
 * the same functions in JavaScript by the same name, `#sha256`.
 */
export const OF_NODE_ALONE = "packages/protocol/src/crypto/sha256/Sha256NodeCrypto.ts"

export interface SourceFile {
  readonly path: string
  readonly workspace: Workspace
  readonly text: string
  readonly isTest: boolean
  readonly imports: ReadonlyArray<string>
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^"'`;]*?from\s*["']([^"']+)["']|(?:^|\n)\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g

const importsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? "")

type Conditions = Readonly<Record<string, string>>

const internalOf = (
  folder: string,
  imports: Readonly<Record<string, Conditions>>
): Readonly<Record<string, ReadonlyArray<string>>> =>
  Object.fromEntries(
    Object.entries(imports).map(([name, targets]) => [
      name,
      [...new Set(Object.values(targets))].map((target) => posix.join(folder, target))
    ])
  )

export const workspaces = (): ReadonlyArray<Workspace> =>
  ["packages", "adapters", "examples"].flatMap((group) =>
    readdirSync(join(ROOT, group)).flatMap((entry) => {
      const manifest = join(ROOT, group, entry, "package.json")
      if (!existsSync(manifest)) return []
      const { name, dependencies = {}, imports = {} } = JSON.parse(readFileSync(manifest, "utf8"))
      const folder = `${group}/${entry}`
      return [
        { name, folder, dependencies: Object.keys(dependencies), internal: internalOf(folder, imports) }
      ]
    })
  )

const filesBelow = (folder: string): ReadonlyArray<string> =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
        .map((entry) => join(entry.parentPath, entry.name))
    : []

export const sourceFiles = (workspace: Workspace): ReadonlyArray<SourceFile> =>
  ["src", "test"].flatMap((part) =>
    filesBelow(join(ROOT, workspace.folder, part)).map((file) => {
      const text = readFileSync(file, "utf8")
      return {
        path: relative(ROOT, file).replaceAll("\\", "/"),
        workspace,
        text,
        isTest: part === "test" || /\.(?:test|spec)\.ts$/u.test(file),
        imports: importsOf(text)
      }
    })
  )

/** The package that an import names, without its subpath. */
export const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

/** The file that a relative import, or one of a workspace's own modules, resolves to. */
export const resolveImport = (
  file: SourceFile,
  specifier: string,
  all: ReadonlyArray<Workspace>
): string | undefined => {
  if (specifier.startsWith(".")) {
    return relative(ROOT, resolve(ROOT, dirname(file.path), specifier)).replaceAll("\\", "/")
  }
  const workspace = all.find(({ name }) => name === packageOf(specifier))
  return workspace === undefined
    ? undefined
    : `${workspace.folder}/src/${specifier.slice(workspace.name.length + 1)}.ts`
}
