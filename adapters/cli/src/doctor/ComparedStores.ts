import {
  isSameDatabase,
  type MissingRecords,
  missingRecords
} from "@svc/store-postgres/diagnosis/MissingRecords"
import { connect, connectReadOnly, DEFAULT_SCHEMA } from "@svc/store-postgres/PostgresStore"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import type { StoreSetting } from "../config/StoreSetting.ts"
import { connectionTo } from "../start/DatabaseConnection.ts"
import { databaseFault } from "../start/DatabaseFault.ts"
import { configurationFault, type StartFault } from "../start/StartFault.ts"
import { type Check, counted, failed, namedList, ok } from "./Check.ts"

type ServerStore = Extract<StoreSetting, { readonly postgres: unknown }>

/** What the other database has and the store has not. Neither is changed. */
export const compareStores = Effect.fnUntraced(
  function* (
    store: ServerStore,
    other: ServerStore
  ): Effect.fn.Return<MissingRecords, StartFault, Reactivity.Reactivity> {
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
      if (yield* isSameDatabase({ here, there })) {
        return yield* configurationFault(
          "SVC_OTHER_STORE must name another database than SVC_STORE: name the server itself, not an address that moves"
        )
      }
      return yield* missingRecords({ here, there, schema: DEFAULT_SCHEMA })
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
export const missingCheck: Check<MissingRecords> = {
  name: "history.missing",
  judge: ({ authorizations, mandates, mandates_compared: compared, operator_commands: commands }) =>
    mandates.length + authorizations.length + commands.length === 0
      ? ok(`nothing is missing: ${counted(compared, "mandate")} compared`)
      : failed(
          `the other database has events of ${counted(mandates.length, "mandate")} (${namedList(mandates.map(({ mandate_id: id }) => id))}), ${counted(authorizations.length, "authorization")} and ${counted(commands.length, "command")} of operators that are not here`,
          "svc store missing lists them: settle what callers did because of them, then svc store acknowledge-history"
        )
}
