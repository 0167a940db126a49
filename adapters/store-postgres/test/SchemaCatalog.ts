import type { PGlite } from "@electric-sql/pglite"
import { quoteSchema } from "../src/Migrations.ts"

/**
 * What the catalog says of a schema: for each thing in it, by its kind and name, its definition. Columns are named, not
 * numbered, since a column that a migration adds comes last.
 */
export type SchemaCatalog = Readonly<Record<string, string>>

const OF_SCHEMA = "where n.nspname = $1"

const CATALOG = [
  `select 'function ' || p.oid::regprocedure as name, pg_get_functiondef(p.oid) as definition
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace ${OF_SCHEMA}`,
  `select 'relation ' || c.relname, concat_ws(' ', c.relkind, c.relpersistence, c.reloptions::text)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace ${OF_SCHEMA}`,
  `select 'column ' || c.relname || '.' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
      'collate ' || a.attcollation::regcollation, case when a.attnotnull then 'not null' end,
      'default ' || pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated)
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    ${OF_SCHEMA} and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`,
  `select 'constraint ' || r.conname || ' of ' || c.relname, pg_get_constraintdef(r.oid)
    from pg_constraint r join pg_class c on c.oid = r.conrelid join pg_namespace n on n.oid = c.relnamespace
    ${OF_SCHEMA} and r.contype <> 'n'`,
  `select 'index ' || c.relname, pg_get_indexdef(c.oid)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace ${OF_SCHEMA} and c.relkind in ('i', 'I')`,
  `select 'trigger ' || t.tgname || ' on ' || c.relname, pg_get_triggerdef(t.oid)
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    ${OF_SCHEMA} and not t.tgisinternal`,
  `select 'type ' || t.typname, concat_ws(' ', t.typtype, t.typcategory)
    from pg_type t join pg_namespace n on n.oid = t.typnamespace
    ${OF_SCHEMA} and t.typtype <> 'c' and t.typcategory <> 'A'`
].join(" union all ")

/** Reads the catalog of a schema, in which `{schema}` stands for the schema's name. */
export const schemaCatalog = async (database: PGlite, schema: string): Promise<SchemaCatalog> => {
  const { rows } = await database.query<{ readonly name: string; readonly definition: string }>(
    `${CATALOG} order by name`,
    [schema]
  )
  const placed = (text: string) =>
    text.replaceAll(quoteSchema(schema), "{schema}").replaceAll(`${schema}.`, "{schema}.")
  return Object.fromEntries(rows.map(({ definition, name }) => [placed(name), placed(definition)]))
}
