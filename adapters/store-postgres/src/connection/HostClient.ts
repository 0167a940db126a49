import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { parseJson } from "@svc/protocol/json/ParseJson"
import { Effect, Stream } from "effect"
import type { Reactivity } from "effect/reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import type { PostgresClients } from "./PostgresClients.ts"

/** A statement as `pg` takes it. */
export interface HostStatement {
  readonly text: string
  readonly values: Array<unknown>
  /** How the columns of the result are read from their text form. */
  readonly types: { readonly getTypeParser: (oid: number, format?: string) => (value: string) => unknown }
}

/** A client of the host's own: a `Pool` or a `Client` of `pg`, or anything with the same `query`. */
export interface HostClient {
  readonly query: (statement: HostStatement) => Promise<{ readonly rows: Array<object> }>
}

const asText = (value: string): string => value

const isTrue = (value: string): boolean => value === "t"

/** The elements of an array in its text form, all of which are texts or null. */
const textArray = (value: string): ReadonlyArray<string | null> => {
  const elements: Array<string | null> = []
  const element = /(?:"((?:[^"\\]|\\.)*)"|([^,{}"]+))(?=[,}])/gsu
  for (const [, quoted, plain] of value.matchAll(element)) {
    if (quoted !== undefined) elements.push(quoted.replaceAll(/\\(.)/gsu, "$1"))
    else elements.push(plain === "NULL" ? null : plain!)
  }
  return elements
}

const READERS: Readonly<Record<number, (value: string) => unknown>> = {
  [PgTypes.OID.bool]: isTrue,
  [PgTypes.OID.int2]: Number,
  [PgTypes.OID.int4]: Number,
  [PgTypes.OID.int8]: BigInt,
  [PgTypes.OID.float8]: Number,
  [PgTypes.OID.json]: parseJson,
  [PgTypes.OID.jsonb]: parseJson,
  [PgTypes.arrayOidFor(PgTypes.OID.text)!]: textArray,
  [PgTypes.arrayOidFor(PgTypes.OID.int8)!]: (value) => textArray(value).map((one) => one && BigInt(one))
}

const types: HostStatement["types"] = { getTypeParser: (oid) => READERS[oid] ?? asText }

const sentValue = (parameter: unknown): unknown =>
  PgTypes.isParameter(parameter) ? (parameter as { readonly value: unknown }).value : parameter

const failedBy = (cause: unknown): SqlError =>
  new SqlError({
    reason: new UnknownError({
      cause,
      message: cause instanceof Error ? cause.message : "the statement failed",
      operation: "execute"
    })
  })

const connectionOf = (client: HostClient): Connection => {
  const run = (text: string, parameters: ReadonlyArray<unknown>) =>
    Effect.map(
      Effect.tryPromise({
        try: async () => client.query({ text, values: parameters.map(sentValue), types }),
        catch: failedBy
      }),
      ({ rows }) => rows
    )
  const unsupported = Effect.die(new Error("a store sends rows by name, in one response"))
  return {
    execute: run,
    executeUnprepared: run,
    executeRaw: run,
    executeValues: () => unsupported,
    executeValuesUnprepared: () => unsupported,
    executeStream: () => Stream.unwrap(unsupported)
  }
}

/** The connections of a store that sends all of its statements by a client of the host. */
export const hostClients = (
  client: HostClient,
  schema: string
): Effect.Effect<PostgresClients, never, Reactivity.Reactivity> => {
  const connection = Effect.succeed(connectionOf(client))
  return Effect.map(
    SqlClient.make({
      acquirer: connection,
      transactionAcquirer: connection,
      driver: "pg",
      compiler: PgClient.makeCompiler(),
      spanAttributes: [["db.system.name", "postgresql"]]
    }),
    (sql) => ({ schema, reads: sql, writes: sql })
  )
}
