import { statSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { configurationFault, type StartFault } from "./StartFault.ts"
import { describeSystemError } from "./SystemError.ts"

/** Every database has it, whatever its release. */
const VERSION_FILE = "PG_VERSION"

/** What says that a name stands for nothing. Anything else says only that it cannot be told. */
const ABSENT = ["ENOENT", "ENOTDIR"]

/** Fails unless the folder holds a database, since to open it would make one. */
export const requireDatabaseIn = (folder: string): Effect.Effect<void, StartFault> =>
  Effect.try({
    try: () => void statSync(join(folder, VERSION_FILE)),
    catch: (error) => {
      const { code = "unknown" } = error as NodeJS.ErrnoException
      return configurationFault(
        ABSENT.includes(code)
          ? `there is no database in ${folder}: see that SVC_STORE names the right folder; svc serve and svc organization create make a new one`
          : `${folder} cannot be looked into: ${describeSystemError(code)}`
      )
    }
  })
