import type { DatabaseIdentity, HistoryState } from "@svc/domain/ports/StoreHistory"
import { type Check, counted, failed, ok, warning } from "./Check.ts"

const placeOf = ({ cluster = "unknown", timeline = "unknown" }: DatabaseIdentity): string =>
  `cluster ${cluster}, timeline ${timeline}`

export interface FoundHistory extends HistoryState {
  readonly isEmbedded: boolean
}

export const historyCheck: Check<FoundHistory> = {
  name: "history.acknowledged",
  judge: ({ found, history, isAcknowledged, isEmbedded, known }) => {
    if (!isAcknowledged) {
      return failed(
        `history ${history} was recorded on ${placeOf(known)}; this database is ${placeOf(found)}, so the last acknowledged writes may be missing`,
        "find out what is missing, then svc store acknowledge-history, or with --lossless if nothing is"
      )
    }
    const isTold = found.cluster !== undefined && found.timeline !== undefined
    return isTold || isEmbedded
      ? ok(`history ${history}, recorded on this database`)
      : warning(
          `history ${history}; the database does not tell its ${found.cluster === undefined ? "cluster" : "timeline"}, so a failover or a restore goes unnoticed`,
          "grant execute on pg_control_system() and pg_walfile_name(pg_lsn) to the role, or run svc store acknowledge-history --restored after each failover and restore"
        )
  }
}

export const positionsCheck: Check<number> = {
  name: "history.positions",
  judge: (ahead) =>
    ahead === 0
      ? ok("the feeds continue the numbers of this server")
      : failed(
          `the feeds of ${counted(ahead, "organization")} have numbers that this server has not come to, as after a dump was loaded: readers see nothing new`,
          "run update svc.event set position = 0 in the database, then svc store acknowledge-history"
        )
}
