import { StoreHistory } from "@svc/domain/ports/StoreHistory"
import { Effect } from "effect"
import { helpOf, SETTINGS_OF } from "../config/Config.ts"
import { badSetting } from "../start/StartFault.ts"
import { readOptions, refuseUnless } from "./CommandOptions.ts"
import type { StoreCommand } from "./StoreCommand.ts"

const acknowledgeHistory: StoreCommand = {
  name: "store acknowledge-history",
  help: helpOf(
    `svc store acknowledge-history: after a failover, a restore or a move to another server, says that the database is to go on
as it is. Until then servers on it are not ready, and neither decide nor record anything, since it may lack what was
acknowledged last: find that out first, and what callers did on the strength of it. Servers go on within 2 s, workers within
15 s. Cursors of GET /v1/events given before are refused for good, and readers begin at the first event. Does nothing where
nothing changed.

  --lossless   nothing is lost, as after a planned switchover, the promotion of a synchronous standby or pg_upgrade:
               cursors given before stay good as far as their event is there
  --restored   the database was put back, though it cannot tell: the same server from a snapshot of its disk, or a
               folder of PGlite from a copy. Run it once, before servers start on it`,
    SETTINGS_OF.store
  ),
  read: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ lossless: "flag", restored: "flag" }, words)
    const { lossless: isLossless, restored: isRestored } = options
    yield* refuseUnless(!(isLossless && isRestored), "--lossless and --restored exclude each other")
    return Effect.map(StoreHistory, ({ acknowledge }) => ({
      organization: "",
      act: Effect.gen(function* () {
        const { history, outcome } = yield* acknowledge({ isLossless, isRestored })
        if (outcome === "unchanged") return { outcome, history }
        if (outcome === "begun") return { outcome, history, lossless: isLossless }
        return yield* badSetting(
          "the events come from another server and have the numbers of its transactions: run update svc.event set position = 0 in the database, then this again"
        )
      })
    }))
  })
}

export const historyCommands: ReadonlyArray<StoreCommand> = [acknowledgeHistory]
