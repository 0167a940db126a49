import type { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { comparable } from "../RecordCodec.ts"

const CLEAN = `select * from {schema}.clean_organizations($1::text, $2::bigint, $3::bigint, $4::bigint, $5::bigint,
  $6::bigint)`

interface CleanedRow {
  readonly o_removed: bigint
  readonly o_next: string | null
}

export const makeCleaning = ({ schema, server, writes }: PostgresClients): StoreCleaning["Service"] => {
  const clean = statement<CleanedRow>(server?.polls ?? writes, schema, CLEAN)
  return {
    clean: ({ after, keptFor, limit, now, organizations }) =>
      guarded(
        Effect.map(
          clean([
            after ?? null,
            String(organizations),
            String(limit),
            ...[now, keptFor.deliveries, keptFor.claims].map(comparable)
          ]),
          ([row]) => {
            const { o_next: next, o_removed: removed } = row!
            return { removed: Number(removed), ...(next === null ? {} : { next }) }
          }
        )
      )
  }
}
