import type {
  PreparedTransaction,
  ReplicationSlot,
  StandbyFacts,
  TransactionFacts
} from "@svc/store-postgres/diagnosis/ActivityFacts"
import { type Check, counted, failed, namedList, ok, skipped, warning } from "./Check.ts"

/** From this age on a transaction is worth a look, in seconds. No statement of this service takes as long. */
export const LONG_TRANSACTION_SECONDS = 60
/** From this age on it harms: readers of the feed have waited as long, and tables have grown. */
const HARMFUL_SECONDS = 600

const SECONDS_PER_MINUTE = 60

const ageOf = (seconds: number): string =>
  seconds < 2 * SECONDS_PER_MINUTE
    ? `${Math.round(seconds)} s`
    : `${Math.round(seconds / SECONDS_PER_MINUTE)} min`

const byAge = (oldest: number, found: string, remedy: string) =>
  oldest >= HARMFUL_SECONDS ? failed(found, remedy) : warning(found, remedy)

export const transactionsCheck: Check<TransactionFacts> = {
  name: "database.long_transactions",
  judge: ({ hidden, open }) => {
    if (open.length > 0) {
      const sessions = open.map(
        ({ database, pid, role, seconds, state, writes }) =>
          `pid ${pid} (${role ?? "no role"} on ${database ?? "no database"}, ${state ?? "unknown"}, ${ageOf(seconds)}, holds ${writes ? "the feed and vacuum" : "vacuum"} back)`
      )
      return byAge(
        open[0]!.seconds,
        namedList(sessions),
        "end what they belong to, or them: select pg_terminate_backend(pid)"
      )
    }
    return hidden > 0
      ? skipped(
          `${counted(hidden, "session")} of other roles cannot be looked into`,
          "grant pg_read_all_stats to the role of SVC_STORE, or look at pg_stat_activity as another"
        )
      : ok(`no transaction is open for ${LONG_TRANSACTION_SECONDS} s`)
  }
}

export const preparedCheck: Check<ReadonlyArray<PreparedTransaction>> = {
  name: "database.prepared_transactions",
  judge: (prepared) => {
    const long = prepared.filter(({ seconds }) => seconds >= LONG_TRANSACTION_SECONDS)
    if (long.length === 0) return ok(`none is left for ${LONG_TRANSACTION_SECONDS} s`)
    const names = long.map(
      ({ database, identifier, owner, seconds }) =>
        `'${identifier}' (${owner} on ${database}, ${ageOf(seconds)})`
    )
    return byAge(
      long[0]!.seconds,
      `${namedList(names)}: holds the feed and vacuum back, over restarts too`,
      "in its database: commit prepared or rollback prepared, whichever its transaction manager decided"
    )
  }
}

const BYTES_PER_GIB = 2 ** 30
/** A slot for which more of the log is kept may fill the disk, in bytes. */
const RETAINED_BYTES = 10 * BYTES_PER_GIB

const slotFault = (slot: ReplicationSlot): string | undefined => {
  const retained = `${(slot.retained_bytes / BYTES_PER_GIB).toFixed(1)} GiB of log are kept`
  if (slot.wal_status === "lost") return `${slot.name} (lost what it needs)`
  if (!slot.is_active) {
    return `${slot.name} (nobody uses it, ${retained}${slot.holds_vacuum ? ", it holds vacuum back" : ""})`
  }
  return slot.retained_bytes > RETAINED_BYTES ? `${slot.name} (${retained})` : undefined
}

export const slotsCheck: Check<ReadonlyArray<ReplicationSlot>> = {
  name: "database.replication_slots",
  judge: (slots) => {
    const faults = slots.flatMap((slot) => slotFault(slot) ?? [])
    return faults.length === 0
      ? ok(slots.length === 0 ? "there is none" : `${counted(slots.length, "slot")} in use`)
      : warning(
          namedList(faults),
          "bring back what uses it, or drop it: select pg_drop_replication_slot(name); max_slot_wal_keep_size bounds what is kept"
        )
  }
}

export const standbyCheck: Check<StandbyFacts> = {
  name: "database.synchronous_standby",
  judge: ({ connected, hidden, names, synchronous }) => {
    if (names === "") return ok("commits wait for no standby")
    if (synchronous > 0) return ok(`commits wait for ${names}, and it is there`)
    if (hidden > 0) {
      return skipped(
        `commits wait for ${names}; this role is not told which of ${counted(connected, "standby connection")} that is`,
        "grant pg_read_all_stats to the role of SVC_STORE"
      )
    }
    return failed(
      `commits wait for ${names}, and no such standby is connected: writes are 503`,
      "bring the standby back, or take it from synchronous_standby_names, after which one lost server loses acknowledged writes"
    )
  }
}
