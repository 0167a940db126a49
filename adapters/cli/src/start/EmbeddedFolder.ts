import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { configurationFault, type StartFault } from "./StartFault.ts"

/** Every database has it, whatever its release. */
const VERSION_FILE = "PG_VERSION"

/** Fails unless the folder holds a database, since to open it would make one. */
export const requireDatabaseIn = (folder: string): Effect.Effect<void, StartFault> =>
  Effect.suspend(() =>
    existsSync(join(folder, VERSION_FILE))
      ? Effect.void
      : Effect.fail(
          configurationFault(
            `there is no database in ${folder}: see that SVC_STORE names the right folder; svc serve and svc organization create make a new one`
          )
        )
  )
