import { StoreHistory } from "@svc/domain/ports/StoreHistory"
import { Effect } from "effect"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { configurationFault } from "../start/StartFault.ts"
import { readOptions, refuseUnless } from "./CommandOptions.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/** A restored database can be one that knows of no change, and would keep the old history and its cursors in force. */
const RESTORED_ADVICE =
  "the database knows of no change; if it was restored, from a dump into another database of the same server too, run this with --restored"

const acknowledgeHistory: StoreCommand = {
  name: "store acknowledge-history",
  isSilent: true,
  help: helpOf(
    `svc store acknowledge-history: after a failover, a restore or a move to another server, confirms that the database is to be
used as it is. Until then servers on it are not ready and neither decide nor record anything, since the last acknowledged
writes may be missing: find out first whether they are, and what callers did because of them. Servers resume within 2 s,
workers within 15 s. Earlier cursors of GET /v1/events are refused for good, and readers start again at the first event.
Does nothing if the history has not changed.

  --lossless   nothing is missing, as after a planned switchover, the promotion of a synchronous standby or pg_upgrade:
               earlier cursors stay valid if their event exists
  --restored   the database was restored in a way that it cannot detect: the same server from a snapshot of its disk, a PGlite
               folder from a copy, or a dump loaded into another database of the same server. Run this once, before servers
               start on it`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ lossless: "flag", restored: "flag" }, words)
    const { lossless: isLossless, restored: isRestored } = options
    yield* refuseUnless(!(isLossless && isRestored), "--lossless and --restored exclude each other")
    return Effect.map(StoreHistory, ({ acknowledge }) => ({
      organization: "",
      act: Effect.gen(function* () {
        const { history, outcome } = yield* acknowledge({ isLossless, isRestored })
        if (outcome === "unchanged") return { outcome, history, advice: RESTORED_ADVICE }
        if (outcome === "begun") return { outcome, history, lossless: isLossless }
        return yield* configurationFault(
          "the events come from another server and have the numbers of its transactions: run update svc.event set position = 0 in the database, then this again"
        )
      })
    }))
  })
}

export const historyCommands: ReadonlyArray<StoreCommand> = [acknowledgeHistory]
