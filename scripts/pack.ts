/** Builds every package that is published and puts the tarballs into a folder: `npm run pack -- FOLDER`. */
import { resolve } from "node:path"
import { packTarballs } from "./pack/Tarballs.ts"

const USAGE = "npm run pack -- FOLDER: builds every package that is published and puts the tarballs there."

const [folder] = process.argv.slice(2)
if (folder === undefined || folder.startsWith("-")) {
  process.stderr.write(`${USAGE}\n`)
  process.exitCode = 64
} else {
  // A relative folder is one of the shell's, which npm leaves for the folder of package.json.
  const tarballs = packTarballs(resolve(process.env.INIT_CWD ?? process.cwd(), folder))
  for (const { file } of tarballs) process.stdout.write(`${file}\n`)
}
