/** Builds every package that is published into a folder of its own below `dist`, as it is packed: `npm run build`. */
import { join } from "node:path"
import { ROOT } from "../checks/Imports.ts"
import { PUBLISHED_NAMES } from "./pack/PackageNames.ts"
import { stagePackages } from "./pack/StagedPackages.ts"

for (const folder of stagePackages(join(ROOT, "dist"), PUBLISHED_NAMES)) process.stdout.write(`${folder}\n`)
