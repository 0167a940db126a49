import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { ROOT } from "../../checks/Imports.ts"
import type { PublishedWorkspace } from "./PublishedWorkspaces.ts"

const COMPILER = join(ROOT, "node_modules", "typescript", "bin", "tsc")

/**
 * Compiles the sources of workspaces, without their tests, into JavaScript, declarations and source maps. The files lie below `output` as the sources lie below the root.
 *
 * @throws Error with the compiler's messages if anything does not compile.
 */
export const compileSources = (workspaces: ReadonlyArray<PublishedWorkspace>, output: string): void => {
  const project = mkdtempSync(join(output, "project-"))
  const fromProject = (path: string) => relative(project, join(ROOT, path))
  const sources = workspaces.map(({ folder }) => fromProject(`${folder}/src`))
  const file = join(project, "tsconfig.json")
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    sourceMap: true,
    inlineSources: true,
    rootDir: fromProject("."),
    outDir: output,
    typeRoots: [fromProject("node_modules/@types")]
  }
  const tests = sources.map((folder) => `${folder}/**/*.test.ts`)
  const config = {
    extends: fromProject("tsconfig.base.json"),
    compilerOptions,
    include: sources,
    exclude: tests
  }
  writeFileSync(file, JSON.stringify(config))
  const { status, stdout } = spawnSync(process.execPath, [COMPILER, "--pretty", "false", "-p", file], {
    cwd: ROOT,
    encoding: "utf8"
  })
  rmSync(project, { recursive: true })
  if (status !== 0) throw new Error(`the sources do not compile:\n${stdout}`)
}
