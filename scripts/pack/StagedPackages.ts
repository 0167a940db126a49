import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { basename, dirname, join, posix } from "node:path"
import { ROOT } from "../../checks/Imports.ts"
import { compileSources } from "./CompiledSources.ts"
import { withInlinedFiles } from "./InlinedFiles.ts"
import { type PackageContents, packageContents } from "./PackageContents.ts"
import { licence, packageManifest } from "./PackageManifest.ts"
import { type PublishedNames, publishedName, withPublishedImports } from "./PackageNames.ts"
import { publishedWorkspaces } from "./PublishedWorkspaces.ts"

const EXECUTABLE = 0o755

/** A source map that names the source where it was written; its text is in the map. */
const withSource = (map: string, module: string): string => {
  const source = posix.relative(posix.dirname(`dist/${module}`), `src/${module}.ts`)
  return JSON.stringify({ ...JSON.parse(map), sources: [source] })
}

const writeModule = (
  from: string,
  to: string,
  module: string,
  source: string,
  names: PublishedNames
): void => {
  const read = (extension: string) => readFileSync(join(from, `${module}${extension}`), "utf8")
  const write = (extension: string, text: string) => writeFileSync(join(to, `${module}${extension}`), text)
  mkdirSync(dirname(join(to, module)), { recursive: true })
  write(".js", withPublishedImports(withInlinedFiles(read(".js"), source), names))
  write(".d.ts", withPublishedImports(read(".d.ts"), names))
  write(".js.map", withSource(read(".js.map"), module))
}

const readme = ({ workspace, entries }: PackageContents, names: PublishedNames): string => {
  const own = join(ROOT, workspace.folder, "README.md")
  if (existsSync(own)) return readFileSync(own, "utf8")
  const name = publishedName(workspace.manifest.name, names)
  const listed = [...entries.keys()].sort().map((entry) => `- \`${posix.join(name, entry)}\``)
  const commands = [...workspace.commands.keys()].map((command) => `- the command \`${command}\``)
  return [
    `# ${name}`,
    "",
    ...(workspace.manifest.description === undefined ? [] : [workspace.manifest.description, ""]),
    ...listed,
    ...commands,
    "",
    `Licence: ${licence()}`,
    ""
  ].join("\n")
}

const stage = (contents: PackageContents, compiled: string, to: string, names: PublishedNames): void => {
  const { folder, commands } = contents.workspace
  const dist = join(to, "dist")
  mkdirSync(dist, { recursive: true })
  for (const module of contents.modules) {
    const source = join(ROOT, folder, "src", `${module}.ts`)
    writeModule(join(compiled, folder, "src"), dist, module, source, names)
  }
  for (const module of commands.values()) chmodSync(join(dist, `${module}.js`), EXECUTABLE)
  writeFileSync(join(to, "package.json"), `${JSON.stringify(packageManifest(contents, names), null, 2)}\n`)
  writeFileSync(join(to, "README.md"), readme(contents, names))
  for (const file of [join(ROOT, "LICENSE"), join(ROOT, folder, "CHANGELOG.md")]) {
    if (existsSync(file)) cpSync(file, join(to, basename(file)))
  }
}

const requireOneVersion = (packages: ReadonlyArray<PackageContents>): void => {
  const versions = new Set(packages.map(({ workspace }) => workspace.manifest.version))
  if (versions.size > 1) throw new Error(`the packages have several versions: ${[...versions].join(", ")}`)
}

/** Builds every package that is published into a folder of its own below `output`, and returns these folders. */
export const stagePackages = (output: string, names: PublishedNames): ReadonlyArray<string> => {
  const cache = join(ROOT, "node_modules", ".cache")
  mkdirSync(cache, { recursive: true })
  const compiled = mkdtempSync(join(cache, "compiled-"))
  try {
    const workspaces = publishedWorkspaces()
    compileSources(workspaces, compiled)
    const packages = packageContents(workspaces, compiled)
    requireOneVersion(packages)
    return packages.map((contents) => {
      const folder = join(output, contents.workspace.folder.split("/").at(-1) ?? "")
      rmSync(folder, { recursive: true, force: true })
      stage(contents, compiled, folder, names)
      return folder
    })
  } finally {
    rmSync(compiled, { recursive: true, force: true })
  }
}
