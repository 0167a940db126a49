import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { inSchema } from "../Migrations.ts"
import { singleRowOf } from "./Question.ts"

/** Looks at the last event of each organization alone. */
const AHEAD = `select count(*)::int as ahead from {schema}.organization o cross join lateral (
  select e.position from {schema}.event e where e.organization = o.organization
  order by e.position desc, e.mandate desc, e.seq desc limit 1
) last where last.position >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint`

/**
 * How many organizations have events with numbers of transactions that this server has not come to, as after a dump was
 * loaded from another one. Their feeds would show nothing new until it has.
 */
export const feedsAhead = (client: SqlClient, schema: string): Effect.Effect<number, SqlError> =>
  Effect.map(singleRowOf<{ readonly ahead: number }>(client, inSchema(AHEAD, schema)), ({ ahead }) => ahead)
