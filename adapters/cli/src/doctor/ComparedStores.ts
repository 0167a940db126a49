import { comparedServer, relationOf } from "@svc/store-postgres/diagnosis/ComparedServers"
import { missingRecords } from "@svc/store-postgres/diagnosis/MissingRecords"
import { connect, connectReadOnly, DEFAULT_SCHEMA } from "@svc/store-postgres/PostgresStore"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import { READING_COMMANDS } from "../command/ReadingCommands.ts"
import type { StoreSetting } from "../config/StoreSetting.ts"
import { connectionTo } from "../start/DatabaseConnection.ts"
import { databaseFault } from "../start/DatabaseFault.ts"
import { configurationFault, type StartFault } from "../start/StartFault.ts"
import { type Check, counted, failed, namedList, ok, warning } from "./Check.ts"
import { type Comparison, isMissingAny, POSSIBLE_COPY } from "./Comparison.ts"

type ServerStore = Extract<StoreSetting, { readonly postgres: unknown }>

const NO_COPY =
  "SVC_OTHER_STORE is a standby that follows a primary, and is not known to follow another than SVC_STORE, so it has whatever that has: name the lost primary, started with an empty standby.signal and without primary_conninfo. (A role in pg_read_all_stats is told which one it follows.)"

/** What the other database has and the store has not. Neither is changed. */
export const compareStores = Effect.fnUntraced(
  function* (
    store: ServerStore,
    other: ServerStore
  ): Effect.fn.Return<Comparison, StartFault, Reactivity.Reactivity> {
    const one = yield* connectionTo(store.postgres)
    const lost = yield* connectionTo(other.postgres)
    if (lost.address.hosts.length > 1) {
      return yield* configurationFault("SVC_OTHER_STORE must name one host, that of the other database")
    }
    return yield* Effect.gen(function* () {
      const { reads: here } = yield* Effect.mapError(connect(one.options), (fault) =>
        databaseFault(fault, one.address)
      )
      const there = yield* connectReadOnly(lost.options)
      yield* Effect.mapError(there.unsafe("select 1").unprepared, (fault) =>
        databaseFault(fault, lost.address)
      )
      const relation = relationOf(yield* comparedServer(here), yield* comparedServer(there))
      if (relation === "copy") return yield* configurationFault(NO_COPY)
      if (relation === "same") {
        return yield* configurationFault(
          "SVC_OTHER_STORE must name another database than SVC_STORE: name the server itself, not an address that moves"
        )
      }
      const found = yield* missingRecords({ here, there, schema: DEFAULT_SCHEMA, reading: READING_COMMANDS })
      return { ...found, other_may_be_copy: relation === "unsure" && !isMissingAny(found) }
    }).pipe(
      Effect.scoped,
      Effect.catchTag("SqlError", (fault) => Effect.fail(databaseFault(fault, one.address)))
    )
  },
  (compared) => Effect.provide(compared, Reactivity.layer)
)

/** Longest that a comparison may take as one of many checks, in seconds. */
export const COMPARISON_LIMIT_SECONDS = 60

/** Whether the database that `SVC_OTHER_STORE` names has anything that the store has not. */
export const missingCheck: Check<Comparison> = {
  name: "history.missing",
  judge: (found) => {
    const { authorizations, mandates, mandates_compared: compared, operator_commands: commands } = found
    if (found.other_may_be_copy) return warning(POSSIBLE_COPY.found, POSSIBLE_COPY.remedy)
    return isMissingAny(found)
      ? failed(
          `the other database has events of ${counted(mandates.length, "mandate")} (${namedList(mandates.map(({ mandate_id: id }) => id))}), ${counted(authorizations.length, "authorization")} and ${counted(commands.length, "command")} of operators that are not here`,
          "svc store missing lists them: settle what callers did because of them, then svc store acknowledge-history (with --restored, if this database was restored), and unset SVC_OTHER_STORE once that is done"
        )
      : ok(`nothing is missing: ${counted(compared, "mandate")} compared`)
  }
}
