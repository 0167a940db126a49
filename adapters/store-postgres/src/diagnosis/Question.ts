import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Effect, Result } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** A parameter: text, or a list of texts. */
type Parameter = string | ReadonlyArray<string>

const typed = (parameter: Parameter): unknown =>
  typeof parameter === "string" ? parameter : Result.getOrThrow(PgTypes.array(parameter, PgTypes.OID.text))

/** Asks the database something once. Nothing is prepared, since a pooler in between may not keep what is. */
export const rowsOf = <Row extends object>(
  client: SqlClient,
  question: string,
  parameters: ReadonlyArray<Parameter> = []
): Effect.Effect<ReadonlyArray<Row>, SqlError> =>
  client.unsafe<Row>(question, parameters.map(typed)).unprepared

/** As {@link rowsOf}, for a question that has one row as its answer. */
export const singleRowOf = <Row extends object>(
  client: SqlClient,
  question: string,
  parameters: ReadonlyArray<Parameter> = []
): Effect.Effect<Row, SqlError> => Effect.map(rowsOf<Row>(client, question, parameters), ([row]) => row!)
