/** Writes the evidence viewer anew: `npm run build:viewer`, after a change to the sources beside this file or to the rules. */
import { writeFileSync } from "node:fs"
import { VIEWER_FILE, viewerFile } from "./ViewerFile.ts"

const text = await viewerFile()
writeFileSync(VIEWER_FILE, text)
console.log(`wrote ${text.length} bytes`)
