import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { withInlinedFiles } from "./InlinedFiles.ts"

const folder = mkdtempSync(join(tmpdir(), "inlined-"))
const source = join(folder, "Assets.ts")
const TEXT = 'a "quoted" line\n$& $1'

writeFileSync(join(folder, "text.css"), TEXT)
writeFileSync(join(folder, "bytes.ico"), Uint8Array.of(0, 255, 10))
afterAll(() => rmSync(folder, { recursive: true }))

describe("withInlinedFiles", () => {
  it("puts a text in place of its read", () => {
    const code = 'const text = readFileSync(new URL("./text.css", import.meta.url), "utf8")'
    assert.strictEqual(withInlinedFiles(code, source), `const text = ${JSON.stringify(TEXT)}`)
  })

  it("puts bytes in place of their read", () => {
    const code = 'const bytes = readFileSync(new URL("./bytes.ico", import.meta.url))'
    assert.strictEqual(withInlinedFiles(code, source), 'const bytes = Buffer.from("AP8K", "base64")')
  })

  it("leaves the package's own package.json to be read", () => {
    const code = 'readFileSync(new URL("../../package.json", import.meta.url), "utf8")'
    assert.strictEqual(withInlinedFiles(code, source), code)
  })

  it("refuses a name that is computed", () => {
    const code = "readFileSync(new URL(`./assets/style.css`, import.meta.url))"
    assert.throws(() => withInlinedFiles(code, source), /no literal/u)
  })
})
