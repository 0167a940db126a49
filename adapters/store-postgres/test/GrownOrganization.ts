import type { PgClient } from "@effect/sql-pg/PgClient"
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"

/** Rows that are added around one mandate, in its organization. */
export interface Growth {
  /** Quoted. */
  readonly schema: string
  readonly organization: string
  readonly mandate: string
  readonly mandates: number
  readonly eventsPerMandate: number
}

const EVENT_BYTES = 300

/** Identifiers that sort before all others, so that lists show the mandate that was there. */
const MANDATE = "'mnd_0' || lpad(n::text, 25, '0')"
const AUTHORIZATION = "'aut_0' || lpad(n::text, 25, '0')"

/** Gives the organization of a mandate many more, like it, with events, authorizations and claims. */
export const growOrganization = (
  client: PgClient,
  { eventsPerMandate, mandate, mandates, organization, schema }: Growth
): Effect.Effect<void, SqlError> => {
  const like = `organization = '${organization}' and mandate = '${mandate}'`
  const many = `generate_series(1, ${mandates}) as n`
  const statements = [
    `insert into ${schema}.stream (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state,
        subject, next_due, wake_at, snapshot)
      select organization, ${MANDATE}, revision, seq, hash, occurred_at, bytes, schema, state, subject || n, next_due,
        next_due, snapshot from ${schema}.stream, ${many} where ${like}`,
    `insert into ${schema}.event (organization, mandate, seq, schema, id, type, text)
      select '${organization}', ${MANDATE}, seq, 1, 'evt_' || n || '_' || seq, 'authorization.reserved',
        repeat('e', ${EVENT_BYTES}) from ${many}, generate_series(1, ${eventsPerMandate}) as seq`,
    `insert into ${schema}.authorization_row (organization, authorization_id, mandate, ordinal, state, record)
      select '${organization}', ${AUTHORIZATION}, ${MANDATE}, 1, 'COMMITTED', record from ${many}, (
        select record from ${schema}.authorization_row where ${like} limit 1
      ) one`,
    `insert into ${schema}.closed_authorization (organization, mandate, state, ordinal, authorization_id)
      select '${organization}', ${MANDATE}, 'COMMITTED', 1, ${AUTHORIZATION} from ${many}`,
    `insert into ${schema}.claim (organization, kind, name, fingerprint, resource)
      select '${organization}', case k when 1 then 'commitment' else 'idempotency_key' end, md5(n || '_' || k),
        repeat('f', 43), ${AUTHORIZATION} from ${many}, generate_series(1, 3) as k`
  ]
  return Effect.forEach(statements, (statement) => client.unsafe(statement).unprepared, { discard: true })
}
