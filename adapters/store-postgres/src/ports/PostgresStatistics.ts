import { MAX_COUNTED_DELIVERIES, type StoreStatistics } from "@svc/domain/ports/StoreStatistics"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { CLOCK } from "./PostgresReads.ts"

/** Each part reads the beginning of an index, but for the endpoints, of which an organization has few. */
const STATE = `select clock.now as clock,
  (select s.next_due from {schema}.stream s where s.wake_at <= clock.now and s.next_due <= clock.now
    order by s.wake_at limit 1) as due_since,
  (select min(w.since) from (
    (select min(q.next_attempt_at) as since from {schema}.webhook_queues() q
      join {schema}.webhook_endpoint e on e.organization = q.organization and e.endpoint = q.endpoint
      where e.status = 'active' and q.next_attempt_at <= clock.now)
    union all
    (select d.next_attempt_at from {schema}.webhook_delivery d
      join {schema}.webhook_endpoint e on e.organization = d.organization and e.endpoint = d.endpoint
      where d.queue = 'later' and d.next_attempt_at <= clock.now and e.status = 'active'
      order by d.next_attempt_at limit 1)
  ) w) as waiting_since,
  (select count(*) from (
    select from {schema}.webhook_delivery d where d.queue = 'due' limit ${MAX_COUNTED_DELIVERIES}
  ) due) as due_deliveries,
  (select count(*) from {schema}.webhook_endpoint e where e.status = 'disabled') as disabled_endpoints
from (select ${CLOCK} as now) clock`

interface StateRow {
  readonly clock: bigint
  readonly due_since: bigint | null
  readonly waiting_since: bigint | null
  readonly due_deliveries: bigint
  readonly disabled_endpoints: bigint
}

export const makeStoreStatistics = ({ reads, schema }: PostgresClients): StoreStatistics["Service"] => {
  const state = statement<StateRow>(reads, schema, STATE)
  return {
    state: Effect.suspend(() =>
      guarded(
        Effect.map(state([]), ([row]) => {
          const { clock, disabled_endpoints, due_deliveries, due_since, waiting_since } = row!
          return {
            now: clock,
            dueLag: clock - (due_since ?? clock),
            webhookLag: clock - (waiting_since ?? clock),
            dueDeliveries: Number(due_deliveries),
            disabledEndpoints: Number(disabled_endpoints)
          }
        })
      )
    )
  }
}
