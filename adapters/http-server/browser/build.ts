/** Writes the script of the approval page anew: `npm run build:page`, after a change to the sources beside this file. */
import { writeFileSync } from "node:fs"
import { bundlePageScript, PAGE_SCRIPT } from "./PageScript.ts"

const text = await bundlePageScript()
writeFileSync(PAGE_SCRIPT, text)
console.log(`wrote ${text.length} bytes`)
