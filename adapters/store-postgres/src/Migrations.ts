import { apiKeyUse } from "./migrations/ApiKeyUse.ts"
import { appendChange } from "./migrations/AppendChange.ts"
import { appendChanges } from "./migrations/AppendChanges.ts"
import { appendOne } from "./migrations/AppendOne.ts"
import { eventFeed } from "./migrations/EventFeed.ts"
import { history } from "./migrations/History.ts"
import { keysOfOrganizations } from "./migrations/KeysOfOrganizations.ts"
import { leanAppend } from "./migrations/LeanAppend.ts"
import { leases } from "./migrations/Leases.ts"
import { loadStream } from "./migrations/LoadStream.ts"
import { openReservations } from "./migrations/OpenReservations.ts"
import { operation } from "./migrations/Operation.ts"
import { tables } from "./migrations/Tables.ts"
import { webhookBatches } from "./migrations/WebhookBatches.ts"
import { webhooks } from "./migrations/Webhooks.ts"
import { withdrawnKeys } from "./migrations/WithdrawnKeys.ts"

/** One step from one form of the schema to the next. A step that was released is never changed. */
export interface Migration {
  /** From 1, without gaps. */
  readonly id: number
  readonly name: string
  /** Statements, in which `{schema}` stands for the quoted name of the schema. */
  readonly statements: string
}

/** All steps, in the order in which they are taken. */
export const MIGRATIONS: ReadonlyArray<Migration> = [
  { id: 1, name: "tables", statements: tables },
  { id: 2, name: "load_stream", statements: loadStream },
  { id: 3, name: "append_change", statements: appendChange },
  { id: 4, name: "append_changes", statements: appendChanges },
  { id: 5, name: "open_reservations", statements: openReservations },
  { id: 6, name: "append_one", statements: appendOne },
  { id: 7, name: "leases", statements: leases },
  { id: 8, name: "operation", statements: operation },
  { id: 9, name: "api_key_use", statements: apiKeyUse },
  { id: 10, name: "event_feed", statements: eventFeed },
  { id: 11, name: "webhooks", statements: webhooks },
  { id: 12, name: "webhook_batches", statements: webhookBatches },
  { id: 13, name: "lean_append", statements: leanAppend },
  { id: 14, name: "history", statements: history },
  { id: 15, name: "withdrawn_keys", statements: withdrawnKeys },
  { id: 16, name: "keys_of_organizations", statements: keysOfOrganizations }
]

/** A schema's name as it is written in statements. */
export const quoteSchema = (schema: string): string => `"${schema.replaceAll('"', '""')}"`

/** Puts the name of a schema into statements. */
export const inSchema = (statements: string, schema: string): string =>
  statements.replaceAll("{schema}", quoteSchema(schema))

/** What holds the record of the steps taken. Safe to run again. */
export const preparation = (schema: string): ReadonlyArray<string> => [
  inSchema("create schema if not exists {schema}", schema),
  inSchema(
    `create table if not exists {schema}.migration (
  id integer primary key,
  name text not null,
  applied_at timestamptz not null default now()
)`,
    schema
  )
]

/**
 * One step as one statement: taken whole or not at all, and once however many processes take it at the same time.
 */
export const migrationStatement = ({ id, name, statements }: Migration, schema: string): string =>
  inSchema(
    `do $migration$
begin
  lock table {schema}.migration in exclusive mode;
  if exists (select 1 from {schema}.migration where id = ${id}) then return; end if;
${statements.trim()}
  insert into {schema}.migration (id, name) values (${id}, '${name}');
end
$migration$`,
    schema
  )

/** Everything that brings an empty database up to date, for an operator to read and to run. */
export const printedMigrations = (schema: string): string =>
  [...preparation(schema), ...MIGRATIONS.map((migration) => migrationStatement(migration, schema))]
    .map((statement) => `${statement};\n`)
    .join("\n")
