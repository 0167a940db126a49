import * as PgTypes from "@effect/sql-pg/PgTypes"
import { type Effect, Result } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { WriteConnections } from "../append/WriteConnections.ts"
import { inSchema } from "../Migrations.ts"

/**
 * The connections of a store. A slow statement delays the others on its connection, so every statement that can wait for
 * a lock goes through `writes`, which runs one statement at a time on each connection.
 */
export interface PostgresClients {
  readonly schema: string
  readonly reads: SqlClient
  readonly writes: SqlClient
  /** The connections for writes to a server. Absent: the database runs inside the process. */
  readonly server?: Omit<WriteConnections, "writes">
}

/** The client for statements that decide or record something on the strength of what is stored. */
export const decidingClient = ({ server, writes }: Pick<PostgresClients, "server" | "writes">): SqlClient =>
  server?.decisions ?? writes

/** A parameter. It is always text or null, so that each statement has one form and is prepared once. */
export type Parameter = string | null | ReadonlyArray<string>

/** An empty list would be sent without its type, which would make another form of the statement. */
const typed = (parameter: Parameter): unknown =>
  typeof parameter === "string" || parameter === null
    ? parameter
    : Result.getOrThrow(PgTypes.array(parameter, PgTypes.OID.text))

/** A statement with the name of its schema, ready to be sent. */
export const statement = <Row extends object>(
  client: SqlClient,
  schema: string,
  text: string
): ((parameters: ReadonlyArray<Parameter>) => Effect.Effect<ReadonlyArray<Row>, SqlError>) => {
  const ready = inSchema(text, schema)
  return (parameters) => client.unsafe<Row>(ready, parameters.map(typed))
}
