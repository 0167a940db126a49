/**
 * `npm run mutate -- domain|protocol [FILE ...]`: changes one expression at a time in the package, runs those of its tests that
 * reach it, and says which changes none of them notices.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { installFolder } from "./InstallFolder.ts"

const root = fileURLToPath(new URL("../", import.meta.url))
/** Where the tool is installed. */
const folder = join(root, "mutation")
const CONFIGURATION = "mutation/.work/stryker.json"
const EX_UNAVAILABLE = 69

const EX_USAGE = 64

const [name, ...files] = process.argv.slice(2)
if (name !== "domain" && name !== "protocol") {
  process.stderr.write("npm run mutate -- domain|protocol [FILE ...]\n")
  process.exit(EX_USAGE)
}

const configuration = {
  testRunner: "vitest",
  plugins: [join(folder, "node_modules/@stryker-mutator/vitest-runner/dist/src/index.js")],
  tempDirName: "mutation/.work/copy",
  mutate: [...(files.length === 0 ? [`packages/${name}/src/**/*.ts`] : files), "!**/*.test.ts"],
  vitest: { configFile: "mutation/vitest.config.ts" },
  ignorePatterns: [".data", "mutation/.work", "docs/vectors/evidence"],
  // What runs once, when a module is loaded, cannot be changed for one test alone.
  ignoreStatic: true,
  disableTypeChecks: false,
  // The copy needs no rewritten paths, and rewriting asks for a TypeScript that this repository does not have.
  tsconfigFile: "mutation/.work/none.json",
  // The texts of details and of faults of the program are for people.
  mutator: { excludedMutations: ["StringLiteral"] },
  concurrency: Number(process.env.SVC_MUTATION_CONCURRENCY ?? availableParallelism()),
  coverageAnalysis: "perTest",
  reporters: ["clear-text", "progress-append-only", "json", "html"],
  clearTextReporter: { logTests: false, allowColor: false },
  jsonReporter: { fileName: "mutation/.work/report.json" },
  htmlReporter: { fileName: "mutation/.work/report.html" },
  incremental: true,
  incrementalFile: `mutation/.work/${name}.json`
}

if (!installFolder(folder)) process.exit(EX_UNAVAILABLE)
mkdirSync(join(folder, ".work"), { recursive: true })
writeFileSync(join(root, CONFIGURATION), JSON.stringify(configuration, undefined, 2))
const tool = join(folder, "node_modules/@stryker-mutator/core/bin/stryker.js")
const { status } = spawnSync(process.execPath, [tool, "run", CONFIGURATION], {
  cwd: root,
  stdio: "inherit",
  // A test is found again by its title, which names its seed where its cases are random, and so the number of its runs.
  env: { FC_SEED: "1", FC_RUNS: "10", ...process.env, SVC_MUTATED_PACKAGE: name }
})
process.exitCode = status ?? 1
