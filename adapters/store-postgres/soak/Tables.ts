import * as PgClient from "@effect/sql-pg/PgClient"
import { PGlite } from "@electric-sql/pglite"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"

/** A row with every column as text. */
export type TextRow = Readonly<Record<string, string | null>>

const TABLES = {
  streams: "select mandate, revision, seq, hash, occurred_at, bytes, state, snapshot from svc.stream",
  events: "select mandate, seq, id, type, text from svc.event",
  authorizations:
    "select authorization_id, mandate, ordinal, state, reservation, record from svc.authorization_row",
  claims: "select kind, name, fingerprint, resource from svc.claim"
} as const

/** The tables that hold what was acknowledged, of one organization. */
export type TableRows = { readonly [Name in keyof typeof TABLES]: ReadonlyArray<TextRow> }

export type ReadTables = (organization: string) => Promise<TableRows>

type Query = (statement: string, parameters: Array<string>) => Promise<ReadonlyArray<object>>

const textOf = (row: object): TextRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)])
  )

const readWith =
  (query: Query): ReadTables =>
  async (organization) => {
    const rows = async (name: keyof typeof TABLES) =>
      (await query(`${TABLES[name]} where organization = $1`, [organization])).map(textOf)
    return {
      streams: await rows("streams"),
      events: await rows("events"),
      authorizations: await rows("authorizations"),
      claims: await rows("claims")
    }
  }

const MAX_MESSAGE_BYTES = 268_435_456

export const postgresTables = (url: string): ReadTables =>
  readWith((statement, parameters) =>
    Effect.runPromise(
      PgClient.make({ url: Redacted.make(url), maxMessageSize: MAX_MESSAGE_BYTES }).pipe(
        Effect.flatMap((sql) => sql.unsafe<object>(statement, parameters)),
        Effect.scoped,
        Effect.provide(Reactivity.layer)
      )
    )
  )

/** Opens the folder anew, as the next process would. */
export const pgliteTables =
  (folder: string): ReadTables =>
  async (organization) => {
    const database = await PGlite.create({ dataDir: folder })
    try {
      return await readWith(
        async (statement, parameters) => (await database.query<object>(statement, parameters)).rows
      )(organization)
    } finally {
      await database.close()
    }
  }
