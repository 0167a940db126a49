/** What an image holds beside Node: the `svc` command, and of each package that it needs the files that it can reach. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync
} from "node:fs"
import { dirname, join, relative, sep } from "node:path"
import { buildSync } from "esbuild"
import { ROOT } from "../../checks/Imports.ts"
import { type PublishedNames, publishedName } from "./PackageNames.ts"

const COMMAND = "svc"

/** Whose command it is, by its name in this repository. */
const COMMAND_PACKAGE = "@svc/cli"

const MODULES = "node_modules"

/** The embedded database, which keeps no promise over a power cut: a deployment has a Postgres server. */
const LEFT_OUT = ["@electric-sql/pglite"]

const MANIFEST = "package.json"

/** Who made a package, and on which terms. */
const NOTICE = /^(?:licen[cs]e|notice|copying)(?:[.-].*)?$/iu

/** Everyone may read it and nobody may change it. */
const FILE_MODE = 0o444
const COMMAND_MODE = 0o555

/** Where Node looks for the package that a file belongs to: below the last `node_modules` of its path. */
const packageFolder = (file: string): string => {
  const parts = file.split(sep)
  const start = parts.lastIndexOf(MODULES) + 1
  return parts.slice(0, start + (parts[start]?.startsWith("@") === true ? 2 : 1)).join(sep)
}

/** The place of a file within the outermost folder of modules. */
const placeOf = (file: string): string => {
  const parts = file.split(sep)
  const nested = parts.lastIndexOf(".cache") + 1
  const start = parts.indexOf(MODULES, nested)
  if (start < 0) throw new Error(`${file} belongs to no package`)
  return parts.slice(start).join(sep)
}

/** Every file that a program can import, by the rules of Node; nothing is bundled. */
const reachedFrom = (program: string): ReadonlyArray<string> => {
  const { metafile } = buildSync({
    entryPoints: [program],
    absWorkingDir: dirname(program),
    bundle: true,
    write: false,
    outdir: "unwritten",
    metafile: true,
    format: "esm",
    platform: "node",
    // Node knows no condition `module`, and a package's main module by `main` alone.
    conditions: ["node"],
    mainFields: ["main"],
    // Node loads what esbuild would leave out because its package says that loading it has no effect.
    ignoreAnnotations: true,
    // Clients of a KMS are for whoever installs them beside the packages: the image has those of this repository.
    nodePaths: [join(ROOT, MODULES)],
    external: [...LEFT_OUT, ...LEFT_OUT.map((name) => `${name}/*`)],
    logLevel: "error",
    tsconfigRaw: {}
  })
  return Object.keys(metafile.inputs).map((input) => join(dirname(program), input))
}

/** The folders of a file, up to that of its package: a package.json in any of them says how the file is loaded. */
const foldersOf = (file: string): ReadonlyArray<string> => {
  const top = packageFolder(file)
  const folders: Array<string> = []
  for (let folder = dirname(file); folder.length >= top.length; folder = dirname(folder)) folders.push(folder)
  return folders
}

const keep = (from: string, to: string, mode: number): void => {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { dereference: true })
  chmodSync(to, mode)
}

/**
 * Writes an image's root into a new folder, from a folder with the published packages below `node_modules`. The other
 * packages are found where Node finds them from there.
 */
export const writeImageRoot = (installed: string, root: string, names: PublishedNames): void => {
  if (existsSync(root) && readdirSync(root).length > 0) throw new Error(`${root} is not empty`)
  const owner = join(installed, MODULES, ...publishedName(COMMAND_PACKAGE, names).split("/"))
  const { bin } = JSON.parse(readFileSync(join(owner, MANIFEST), "utf8"))
  const program = realpathSync(join(owner, bin[COMMAND]))
  const files = reachedFrom(program)
  for (const file of files) keep(file, join(root, placeOf(file)), file === program ? COMMAND_MODE : FILE_MODE)
  const manifests = files.flatMap(foldersOf).map((folder) => join(folder, MANIFEST))
  const notices = [...new Set(files.map(packageFolder))].flatMap((folder) =>
    readdirSync(folder)
      .filter((entry) => NOTICE.test(entry))
      .map((entry) => join(folder, entry))
  )
  for (const file of new Set([...manifests, ...notices])) {
    if (existsSync(file)) keep(file, join(root, placeOf(file)), FILE_MODE)
  }
  const commands = join(root, "bin")
  mkdirSync(commands)
  symlinkSync(relative(commands, join(root, placeOf(program))), join(commands, COMMAND))
}
