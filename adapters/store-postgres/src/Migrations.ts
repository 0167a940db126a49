import { schemaStatements } from "./schema/Schema.ts"

/*
 * `schema/` holds the schema as it is, which is what one reads and changes; this list holds the way to it. No version has
 * been published yet, so the one step there is makes the schema as it is.
 *
 * What a publication freezes: the text of each step that it brings goes into a file of its own in `migrations/` (of the
 * first, what `schemaStatements` is then), and its checksum into `test/ReleasedMigrations.ts`. From then on a change is made
 * twice, in the file in `schema/` and in a step that is appended here; a test holds the two ways against each other. A step
 * is taken while servers of the release before go on, so what they call and read stays until a later release.
 */

/** One step from one form of the schema to the next. */
export interface Migration {
  /** From 1, without gaps. */
  readonly id: number
  /** Unique; whether a step was taken is known by its name. */
  readonly name: string
  /** Statements, in which `{schema}` stands for the quoted name of the schema. */
  readonly statements: string
}

/** All steps, in the order in which they are taken. */
export const MIGRATIONS: ReadonlyArray<Migration> = [
  { id: 1, name: "baseline", statements: schemaStatements }
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
  if exists (select from {schema}.migration where name = '${name}') then return; end if;
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
