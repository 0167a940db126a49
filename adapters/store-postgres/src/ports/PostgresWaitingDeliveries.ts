import type { WaitingDeliveries } from "@svc/domain/ports/WaitingDeliveries"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"

const COUNT = `select (
    select count(*) from {schema}.webhook_delivery d where d.organization = $1::text and d.endpoint = $2::text
      and d.queue is not null and d.queue in ('due', 'later', 'frozen')
  ) as waiting, (
    select count(*) from {schema}.webhook_delivery o where o.organization = $1::text and o.endpoint = $2::text
      and o.open_token is not null
  ) as under_way`

const GIVE_UP = "select {schema}.give_up_webhook_deliveries($1::text, $2::text, $3::bigint) as given_up"

export const makeWaitingDeliveries = ({
  reads,
  schema,
  writes
}: PostgresClients): WaitingDeliveries["Service"] => {
  const count = statement<{ readonly waiting: bigint; readonly under_way: bigint }>(reads, schema, COUNT)
  const giveUp = statement<{ readonly given_up: bigint }>(writes, schema, GIVE_UP)
  return {
    count: ({ endpoint, organization }) =>
      guarded(
        Effect.map(count([organization, endpoint]), ([row]) => ({
          waiting: Number(row!.waiting),
          underWay: Number(row!.under_way)
        }))
      ),
    giveUp: ({ endpoint, limit, organization }) =>
      guarded(Effect.map(giveUp([organization, endpoint, String(limit)]), ([row]) => Number(row!.given_up)))
  }
}
