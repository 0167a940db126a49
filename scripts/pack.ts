/**
 * Builds every package that is published and puts the tarballs into a folder: `npm run pack -- FOLDER`. With `--pin` instead
 * of a folder it records what they contain, which a test compares.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { contentsOf, PINNED_CONTENTS } from "./pack/PinnedContents.ts"
import { packTarballs } from "./pack/Tarballs.ts"

const USAGE = `npm run pack -- FOLDER: builds every package that is published and puts the tarballs there.
npm run pack -- --pin: records in scripts/pack/contents.txt what the tarballs contain.
`

const EX_USAGE = 64

const pin = (): void => {
  const folder = mkdtempSync(join(tmpdir(), "packed-"))
  try {
    writeFileSync(PINNED_CONTENTS, contentsOf(packTarballs(folder)))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const given = process.argv.slice(2)
const [folder = "-"] = given
if (given.length === 1 && folder === "--pin") pin()
else if (given.length === 1 && !folder.startsWith("-")) {
  // A relative folder is one of the shell's, which npm leaves for the folder of package.json.
  const tarballs = packTarballs(resolve(process.env.INIT_CWD ?? process.cwd(), folder))
  for (const { file } of tarballs) process.stdout.write(`${file}\n`)
} else {
  process.stderr.write(USAGE)
  process.exitCode = EX_USAGE
}
