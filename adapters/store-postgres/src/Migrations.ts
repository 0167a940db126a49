import { baseline } from "./migrations/Baseline.ts"
import { cleanedRows } from "./migrations/CleanedRows.ts"
import { heapOnlyUpdates } from "./migrations/HeapOnlyUpdates.ts"
import { openAttempts } from "./migrations/OpenAttempts.ts"
import { partitions } from "./migrations/Partitions.ts"
import { removedMandates } from "./migrations/RemovedMandates.ts"
import { replacedIndexes } from "./migrations/ReplacedIndexes.ts"
import { revisionsAfterLoss } from "./migrations/RevisionsAfterLoss.ts"
import { secretTables } from "./migrations/SecretTables.ts"
import { wakeColumns } from "./migrations/WakeColumns.ts"
import { webhookBounds } from "./migrations/WebhookBounds.ts"

/*
 * `schema/` holds the current schema, which is the one to read and change; this list holds the steps that lead to it, each a
 * file in `migrations/`. Every change is made twice, in its file in `schema/` and in a step that is appended here; a test
 * compares the results. A step that replaces a function takes its text from `schema/` until it is published.
 *
 * Publishing a version freezes its steps: the text of each is written out in its file, and its checksum goes to
 * `test/ReleasedMigrations.ts`. Servers of the previous release keep running during a step, so what they call and read must
 * stay until a later release.
 */

/** One step from one version of the schema to the next. */
export interface Migration {
  /** From 1, without gaps. */
  readonly id: number
  /** Unique. The record of the steps taken identifies each by its name. */
  readonly name: string
  /**
   * Statements; `{schema}` stands for the quoted name of the schema, and `{partitions}` for the number of partitions by
   * organization that a new schema is to have, 0 for none. A step that is taken later must suit both forms: see
   * `migrations/Partitions.ts`.
   */
  readonly statements: string
}

/** All steps, in the order in which they are taken. */
export const MIGRATIONS: ReadonlyArray<Migration> = [
  { id: 1, name: "baseline", statements: baseline },
  { id: 2, name: "wake_columns", statements: wakeColumns },
  { id: 3, name: "heap_only_updates", statements: heapOnlyUpdates },
  { id: 4, name: "replaced_indexes", statements: replacedIndexes },
  { id: 5, name: "cleaned_rows", statements: cleanedRows },
  { id: 6, name: "secret_tables", statements: secretTables },
  { id: 7, name: "webhook_bounds", statements: webhookBounds },
  { id: 8, name: "partitions", statements: partitions },
  { id: 9, name: "removed_mandates", statements: removedMandates },
  { id: 10, name: "revisions_after_loss", statements: revisionsAfterLoss },
  { id: 11, name: "open_attempts", statements: openAttempts }
]

/** A schema's name as it is written in statements. */
export const quoteSchema = (schema: string): string => `"${schema.replaceAll('"', '""')}"`

/** Replaces `{schema}` in statements by the name of a schema, and `{partitions}` by the number that it is made with. */
export const inSchema = (statements: string, schema: string, partitionCount = 0): string =>
  statements.replaceAll("{schema}", quoteSchema(schema)).replaceAll("{partitions}", String(partitionCount))

/** Makes the table that records the steps taken. Safe to run again. */
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
 * One step as one statement. It is taken entirely or not at all, and once even if several processes try at the same time.
 */
export const migrationStatement = (
  { id, name, statements }: Migration,
  schema: string,
  partitionCount = 0
): string =>
  inSchema(
    `do $migration$
begin
  lock table {schema}.migration in exclusive mode;
  if exists (select from {schema}.migration where name = '${name}') then return; end if;
${statements.trim()}
  insert into {schema}.migration (id, name) values (${id}, '${name}');
end
$migration$`,
    schema,
    partitionCount
  )

/** All statements that bring an empty database up to date, for an operator to read and run. */
export const printedMigrations = (schema: string, partitionCount = 0): string =>
  [
    ...preparation(schema),
    ...MIGRATIONS.map((migration) => migrationStatement(migration, schema, partitionCount))
  ]
    .map((statement) => `${statement};\n`)
    .join("\n")
