import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { PUBLISHED_NAMES } from "./PackageNames.ts"
import { stagePackages } from "./StagedPackages.ts"

/** What npm says of all packages, in bytes, with room to grow. */
const OUTPUT_BYTES = 16 * 1024 * 1024

/** A package as npm packed it. */
export interface Tarball {
  readonly name: string
  /** The tarball. */
  readonly file: string
  /** Paths of the files in it. */
  readonly files: ReadonlyArray<string>
  /** Its entries, as its package.json names them. */
  readonly entries: ReadonlyArray<string>
}

interface Packed {
  readonly name: string
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string }>
}

const entriesOf = (from: string): ReadonlyArray<string> =>
  Object.keys(JSON.parse(readFileSync(join(from, "package.json"), "utf8")).exports)

/** Builds and packs every package that is published, and leaves the tarballs in `folder`. */
export const packTarballs = (folder: string): ReadonlyArray<Tarball> => {
  const staged = join(folder, ".staged")
  mkdirSync(folder, { recursive: true })
  try {
    const packages = stagePackages(staged, PUBLISHED_NAMES)
    const { status, stdout, stderr } = spawnSync(
      "npm",
      ["pack", "--json", "--ignore-scripts", "--pack-destination", folder, ...packages],
      { cwd: folder, encoding: "utf8", maxBuffer: OUTPUT_BYTES }
    )
    if (status !== 0) throw new Error(`npm pack failed:\n${stderr}`)
    // Releases of npm differ in whether this is a list or names its members.
    const packed: ReadonlyArray<Packed> = Object.values(JSON.parse(stdout))
    return packed.map(({ name, filename, files }, index) => ({
      name,
      file: join(folder, filename),
      files: files.map(({ path }) => path).sort(),
      entries: entriesOf(packages[index] ?? "")
    }))
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
}
