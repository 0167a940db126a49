import { join } from "node:path"
import { ROOT } from "../../checks/Imports.ts"
import type { Tarball } from "./Tarballs.ts"

/** What the tarballs are known to contain. */
export const PINNED_CONTENTS = join(ROOT, "scripts", "pack", "contents.txt")

const COMPILED = /\.(?:d\.ts|js|js\.map)$/u

/** Compiled modules, of which each has three files, on one line each; other files as they are. */
const filesOf = ({ files }: Tarball): ReadonlyArray<string> => {
  const modules = files.filter((file) => file.endsWith(".js")).map((file) => file.slice(0, -".js".length))
  const complete = new Set(
    modules.filter((module) => files.includes(`${module}.d.ts`) && files.includes(`${module}.js.map`))
  )
  const others = files.filter((file) => !complete.has(file.replace(COMPILED, "")))
  return [...others, ...[...complete].map((module) => `${module}.{d.ts,js,js.map}`)].sort()
}

const described = (tarball: Tarball): string =>
  [
    tarball.name,
    ...[...tarball.entries].sort().map((entry) => `  exports ${entry}`),
    ...filesOf(tarball).map((file) => `  holds ${file}`),
    ""
  ].join("\n")

/** The entries and the files of tarballs, as `contents.txt` keeps them. */
export const contentsOf = (tarballs: ReadonlyArray<Tarball>): string =>
  [...tarballs]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(described)
    .join("\n")
