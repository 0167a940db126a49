import { schemaStatements } from "./schema/Schema.ts"

/*
 * `schema/` holds the current schema, which is the one to read and change; this list holds the steps that lead to it. No
 * version has been published yet, so there is one step, which makes the current schema.
 *
 * Publishing a version freezes its steps: the text of each moves to a file in `migrations/` (that of the first step is what
 * `schemaStatements` then is), and its checksum to `test/ReleasedMigrations.ts`. Every later change is made twice, in its
 * file in `schema/` and in a step that is appended here; a test compares the results. Servers of the previous release keep
 * running during a step, so what they call and read must stay until a later release.
 */

/** One step from one version of the schema to the next. */
export interface Migration {
  /** From 1, without gaps. */
  readonly id: number
  /** Unique. The record of the steps taken identifies each by its name. */
  readonly name: string
  /** Statements; `{schema}` stands for the quoted name of the schema. */
  readonly statements: string
}

/** All steps, in the order in which they are taken. */
export const MIGRATIONS: ReadonlyArray<Migration> = [
  { id: 1, name: "baseline", statements: schemaStatements }
]

/** A schema's name as it is written in statements. */
export const quoteSchema = (schema: string): string => `"${schema.replaceAll('"', '""')}"`

/** Replaces `{schema}` in statements by the name of a schema. */
export const inSchema = (statements: string, schema: string): string =>
  statements.replaceAll("{schema}", quoteSchema(schema))

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
export const migrationStatement = ({ id, name, statements }: Migration, schema: string): string =>
  inSchema(
    `do $migration$
begin
  lock table {schema}.migration in exclusive mode;
  if exists (select from {schema}.migration where name = '${name}') then return; end if;
${statements.trim()}
  insert into {schema}.migration (id, name) values (${id}, '${name}');
end
$migration$`,
    schema
  )

/** All statements that bring an empty database up to date, for an operator to read and run. */
export const printedMigrations = (schema: string): string =>
  [...preparation(schema), ...MIGRATIONS.map((migration) => migrationStatement(migration, schema))]
    .map((statement) => `${statement};\n`)
    .join("\n")
