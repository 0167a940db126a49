import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { bundlePageScript, PAGE_SCRIPT } from "./PageScript.ts"

it("the served script of the approval page is built from the present sources (else: npm run build:page)", async () => {
  assert.strictEqual(readFileSync(PAGE_SCRIPT, "utf8"), await bundlePageScript())
})
