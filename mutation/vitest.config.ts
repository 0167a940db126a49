import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const root = fileURLToPath(new URL("../", import.meta.url))
const TIMEOUT_MILLISECONDS = 60_000

/** Sources are changed in a copy, while `node_modules` is linked: what a workspace imports of another is the copy's, too. */
const aliasesOf = (folder: string) =>
  readdirSync(`${root}${folder}`).flatMap((name) => [
    { find: new RegExp(`^@svc/${name}/test/(.*)$`, "u"), replacement: `${root}${folder}/${name}/test/$1.ts` },
    { find: new RegExp(`^@svc/${name}/(.*)$`, "u"), replacement: `${root}${folder}/${name}/src/$1.ts` },
    { find: new RegExp(`^@svc/${name}$`, "u"), replacement: `${root}${folder}/${name}/src/index.ts` }
  ])

/** Begins with the test beside the file that is changed: it is quick, and notices most. */
class OwnTestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const own = new Set(this.ctx.config.related?.map((file) => file.replace(/\.ts$/u, ".test.ts")))
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => Number(own.has(other.moduleId)) - Number(own.has(one.moduleId)))
  }
}

/** The tests that a change of a rule has to fail: those of the rules, without servers, programs and databases. */
export default defineConfig({
  root,
  resolve: { alias: [...aliasesOf("packages"), ...aliasesOf("adapters")] },
  test: {
    include: [`packages/${process.env.SVC_MUTATED_PACKAGE}/{src,test}/**/*.test.ts`],
    // Hundreds of random runs each, for every change that they reach, which is nearly all.
    exclude: ["**/node_modules/**", "packages/domain/test/{HostileCalls,Lifecycle,Linearizability}.test.ts"],
    // Modules are loaded once for all files that a change reaches, by a worker that tries this change alone.
    isolate: false,
    sequence: { sequencer: OwnTestFirst },
    setupFiles: [`${root}mutation/StopWhenNoticed.ts`],
    testTimeout: TIMEOUT_MILLISECONDS,
    hookTimeout: TIMEOUT_MILLISECONDS
  }
})
