import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const ROOT = fileURLToPath(new URL("../../../", import.meta.url))
const CONFIGURATION = "packages/client/tsconfig.web.json"

/** What Node, or a page, has beyond the standards that every runtime of the client shares. */
const FOREIGN = [
  'import { readFileSync } from "node:fs"\nexport const use = readFileSync',
  'import { createHash } from "crypto"\nexport const use = createHash',
  "export const use = Buffer.alloc(1)",
  "export const use = process.env",
  "export const use = setImmediate",
  "export const use = document.title"
]

const STANDARD = "export const use = [fetch, crypto.subtle, AbortSignal, TextEncoder, URL, setTimeout, btoa]"

describe(CONFIGURATION, () => {
  it("takes what all runtimes have, and nothing of Node's or a page's", () => {
    const cache = join(ROOT, "node_modules", ".cache")
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(cache, "client-web-"))
    try {
      writeFileSync(join(folder, "standard.ts"), STANDARD)
      for (const [index, text] of FOREIGN.entries()) writeFileSync(join(folder, `foreign${index}.ts`), text)
      const project = { extends: join(ROOT, CONFIGURATION), include: ["*.ts"] }
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project))
      const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc")
      const { stdout } = spawnSync(process.execPath, [tsc, "--pretty", "false", "-p", folder], {
        encoding: "utf8"
      })
      const refused = [...stdout.matchAll(/(\w+)\.ts\(\d+,\d+\): error/gu)].map(([, name]) => name)
      assert.sameMembers(
        [...new Set(refused)],
        FOREIGN.map((_, index) => `foreign${index}`)
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it("is part of the type check", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
    assert.include(scripts.typecheck, CONFIGURATION)
  })
})
