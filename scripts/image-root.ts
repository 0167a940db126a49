/** Builds what `deploy/Dockerfile` puts beside Node, into a new folder: `npm run image:root -- FOLDER`. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { ROOT } from "../checks/Imports.ts"
import { writeImageRoot } from "./pack/ImageRoot.ts"
import { PUBLISHED_NAMES } from "./pack/PackageNames.ts"
import { stagePackages } from "./pack/StagedPackages.ts"

const USAGE = "npm run image:root -- FOLDER: builds the files of the image into a new folder.\n"

const EX_USAGE = 64

/** Below `node_modules`, so that the other packages are found from there. */
const CACHE = join(ROOT, "node_modules", ".cache")

const build = (root: string): void => {
  mkdirSync(CACHE, { recursive: true })
  const installed = mkdtempSync(join(CACHE, "image-"))
  try {
    for (const staged of stagePackages(join(installed, "staged"), PUBLISHED_NAMES)) {
      const { name } = JSON.parse(readFileSync(join(staged, "package.json"), "utf8"))
      const place = join(installed, "node_modules", ...name.split("/"))
      mkdirSync(dirname(place), { recursive: true })
      renameSync(staged, place)
    }
    writeImageRoot(installed, root, PUBLISHED_NAMES)
  } finally {
    rmSync(installed, { recursive: true })
  }
}

const [folder = "-", ...others] = process.argv.slice(2)
if (folder.startsWith("-") || others.length > 0) {
  process.stderr.write(USAGE)
  process.exitCode = EX_USAGE
} else {
  // A relative folder is one of the shell's, which npm leaves for the folder of package.json.
  build(resolve(process.env.INIT_CWD ?? process.cwd(), folder))
}
