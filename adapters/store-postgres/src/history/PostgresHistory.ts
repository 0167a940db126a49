import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { Acknowledged, DatabaseIdentity, StoreHistory } from "@svc/domain/ports/StoreHistory"
import { Data, Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"

/** The cause of every 503 until an operator has acknowledged the change. */
export class HistoryUnacknowledged extends Data.TaggedError("HistoryUnacknowledged")<Record<never, never>> {
  override readonly message =
    "the history of the store changed and no operator has acknowledged it: svc store acknowledge-history"
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

const identityOf = (cluster: string | null, timeline: string | null): DatabaseIdentity => ({
  cluster: cluster ?? undefined,
  timeline: timeline ?? undefined
})

export const makeStoreHistory = ({ schema, server, writes }: PostgresClients): StoreHistory["Service"] => {
  // Uses a connection for writes, but does not count as a write.
  const state = statement<StateRow>(server?.sessions ?? writes, schema, STATE)
  const acknowledge = statement<AcknowledgedRow>(writes, schema, ACKNOWLEDGE)
  return {
    state: (known) =>
      guarded(
        Effect.map(state([known ?? null]), ([row]) => ({
          history: row!.o_history,
          isAcknowledged: row!.o_is_acknowledged,
          hasKnown: row!.o_has_known,
          known: identityOf(row!.o_known_cluster, row!.o_known_timeline),
          found: identityOf(row!.o_cluster, row!.o_timeline)
        }))
      ),
    acknowledge: ({ isLossless, isRestored }) =>
      guarded(
        Effect.map(acknowledge([String(isLossless), String(isRestored)]), ([row]) => ({
          outcome: row!.o_outcome,
          history: row!.o_history
        }))
      )
  }
}
