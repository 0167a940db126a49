import type { PgClient } from "@effect/sql-pg/PgClient"
import { Effect } from "effect"

const AUTHORIZATIONS_PER_MANDATE = 50

/** Fills a schema as if it had been used for long: so many authorizations, with their events and claims. */
export const fillSchema = (
  client: PgClient,
  schema: string,
  authorizations: number
): Effect.Effect<void, unknown> => {
  const mandates = Math.ceil(authorizations / AUTHORIZATIONS_PER_MANDATE)
  const statements = [
    `insert into ${schema}.stream
      (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state, subject, next_due, wake_at, snapshot)
      select 'org_' || n % 50, 'mnd_' || n, 1, 1, 'hash', 1, 1, 1, 'ACTIVE', 's' || n, 9000000000000000000,
        9000000000000000000, repeat('s', 1500) from generate_series(1, ${mandates}) as n`,
    `insert into ${schema}.authorization_row
      (organization, authorization_id, mandate, ordinal, state, expires_at, reservation, record)
      select 'org_' || m % 50, 'aut_' || m || '_' || n, 'mnd_' || m, n, 'COMMITTED', null, null, repeat('r', 1000)
      from generate_series(1, ${mandates}) as m, generate_series(1, ${AUTHORIZATIONS_PER_MANDATE}) as n`,
    `insert into ${schema}.closed_authorization (organization, mandate, state, ordinal, authorization_id)
      select 'org_' || m % 50, 'mnd_' || m, 'COMMITTED', n, 'aut_' || m || '_' || n
      from generate_series(1, ${mandates}) as m, generate_series(1, ${AUTHORIZATIONS_PER_MANDATE}) as n`,
    `insert into ${schema}.event (organization, mandate, seq, schema, id, type, text)
      select 'org_' || m % 50, 'mnd_' || m, n, 1, 'evt_' || m || '_' || n, 'authorization.reserved', repeat('e', 1200)
      from generate_series(1, ${mandates}) as m, generate_series(1, ${2 * AUTHORIZATIONS_PER_MANDATE}) as n`,
    `insert into ${schema}.claim (organization, kind, name, fingerprint, resource)
      select 'org_' || m % 50, case n % 3 when 0 then 'commitment' else 'idempotency_key' end,
        md5(m || '_' || n), repeat('f', 43), 'aut_' || m || '_' || n / 3
      from generate_series(1, ${mandates}) as m, generate_series(1, ${3 * AUTHORIZATIONS_PER_MANDATE}) as n`,
    "checkpoint"
  ]
  return Effect.asVoid(Effect.forEach(statements, (statement) => client.unsafe(statement)))
}
