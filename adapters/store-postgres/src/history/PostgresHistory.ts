import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type {
  Acknowledged,
  DatabaseIdentity,
  HistoryState,
  StoreHistory
} from "@svc/domain/ports/StoreHistory"
import { Data, Effect } from "effect"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import type { Admission } from "../append/WriteConnections.ts"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { inSchema } from "../Migrations.ts"

/** The cause of every 503 until an operator has acknowledged the change. */
export class HistoryUnacknowledged extends Data.TaggedError("HistoryUnacknowledged")<Record<never, never>> {
  override readonly message =
    "the history of the store changed and no operator has acknowledged it: svc store acknowledge-history"
}

/** Another history was seen while a session was asked for its own: the next attempt asks for that. */
export class HistoryOvertaken extends Data.TaggedError("HistoryOvertaken")<Record<never, never>> {
  override readonly message = "the history of the store changed while a session was asked for it"
}

/** Seconds that callers are asked to wait, since an operator has to intervene. */
const RETRY_AFTER_SECONDS = 5

export const historyUnacknowledged: Effect.Effect<never, StoreUnavailable> = Effect.suspend(() =>
  Effect.fail(
    new StoreUnavailable({ cause: new HistoryUnacknowledged(), retryAfterSeconds: RETRY_AFTER_SECONDS })
  )
)

const STATE = `select s.*,
  $1::text is null or exists (select from {schema}.history h where h.history = $1::text) as o_has_known
  from {schema}.history_state() s`

const ACKNOWLEDGE = "select * from {schema}.acknowledge_history($1::boolean, $2::boolean)"

interface StateRow {
  readonly o_has_known: boolean
  readonly o_history: string
  readonly o_is_acknowledged: boolean
  readonly o_known_cluster: string | null
  readonly o_known_timeline: string | null
  readonly o_cluster: string | null
  readonly o_timeline: string | null
}

interface AcknowledgedRow {
  readonly o_outcome: Acknowledged["outcome"]
  readonly o_history: string
}

/** The same of one session, and whether its server is a standby, which reports no identity. */
const STATE_IN_SESSION = `select o.*, pg_is_in_recovery() as o_is_standby from (${STATE}) o`

const identityOf = (cluster: string | null, timeline: string | null): DatabaseIdentity => ({
  cluster: cluster ?? undefined,
  timeline: timeline ?? undefined
})

const stateOf = (row: StateRow): HistoryState => ({
  history: row.o_history,
  isAcknowledged: row.o_is_acknowledged,
  hasKnown: row.o_has_known,
  known: identityOf(row.o_known_cluster, row.o_known_timeline),
  found: identityOf(row.o_cluster, row.o_timeline)
})

const refusedIn = (cause: Error): SqlError =>
  new SqlError({ reason: new UnknownError({ cause, message: cause.message, operation: "query" }) })

/**
 * Admits a session for decisions if `isAcknowledged` says so of the history in it. A standby could be promoted after it was
 * admitted, so none is.
 */
export const admissionBy =
  (
    { schema }: Pick<PostgresClients, "schema">,
    known: () => string | undefined,
    isAcknowledged: (state: HistoryState) => boolean
  ): Admission =>
  (session) => {
    const asked = known()
    return Effect.flatMap(
      session.execute(inSchema(STATE_IN_SESSION, schema), [asked ?? null], undefined),
      (rows) => {
        const [row] = rows as ReadonlyArray<StateRow & { readonly o_is_standby: boolean }>
        // A later history was seen meanwhile, and this answer does not say whether the database has it.
        if (known() !== asked && known() !== row!.o_history)
          return Effect.fail(refusedIn(new HistoryOvertaken()))
        if (row!.o_is_standby) return Effect.fail(refusedIn(new Error("the database is a standby")))
        return isAcknowledged(stateOf(row!))
          ? Effect.void
          : Effect.fail(refusedIn(new HistoryUnacknowledged()))
      }
    )
  }

export const makeStoreHistory = ({ schema, server, writes }: PostgresClients): StoreHistory["Service"] => {
  // Uses a connection for writes, but does not count as a write.
  const state = statement<StateRow>(server?.sessions ?? writes, schema, STATE)
  const acknowledge = statement<AcknowledgedRow>(writes, schema, ACKNOWLEDGE)
  return {
    state: (known) => guarded(Effect.map(state([known ?? null]), ([row]) => stateOf(row!))),
    acknowledge: ({ isLossless, isRestored }) =>
      guarded(
        Effect.map(acknowledge([String(isLossless), String(isRestored)]), ([row]) => ({
          outcome: row!.o_outcome,
          history: row!.o_history
        }))
      )
  }
}
