import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { inSchema } from "./Migrations.ts"

/**
 * The connections of a store. One slow statement holds up those that share its connection, so whatever can wait for
 * a lock goes through `writes`, which does not multiplex.
 */
export interface PostgresClients {
  readonly schema: string
  readonly reads: PgClient
  readonly writes: PgClient
}

/** A parameter: always text (or null), so that one statement has one form and is prepared once. */
export type Parameter = string | null | ReadonlyArray<string>

/** A statement with its schema put in, ready to be sent. */
export const statement = <Row extends object>(
  client: PgClient,
  schema: string,
  text: string
): ((parameters: ReadonlyArray<Parameter>) => Effect.Effect<ReadonlyArray<Row>, SqlError>) => {
  const ready = inSchema(text, schema)
  return (parameters) => client.unsafe<Row>(ready, parameters)
}
