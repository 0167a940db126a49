import { firstPartitioning, partitioningTable } from "../schema/operation/PartitioningTable.ts"

/** Tables with rows of organizations that stay whole, because they are small or belong to the deployment. */
export const WHOLE_TABLES: ReadonlyArray<string> = [
  "api_key",
  "lease",
  "operator_log",
  "signing_key",
  "webhook_attempt_lock",
  "webhook_endpoint"
]

/**
 * Statements of a step, within a loop over tables that have the record `v_table`: divide a table by the hash of its
 * organization into `v_partitions` partitions, with its rows, storage parameters, keys and indexes.
 */
const divideTable = `
select array_agg(pg_get_indexdef(x.indexrelid)) into v_indexes from pg_index x
  where x.indrelid = v_table.oid and not x.indisprimary;
select format('constraint %I %s', r.conname, pg_get_constraintdef(r.oid)) into v_key from pg_constraint r
  where r.conrelid = v_table.oid and r.contype = 'p';
execute format('alter table {schema}.%I rename to undivided', v_table.name);
execute format('create table {schema}.%I (like {schema}.undivided including defaults including storage)
  partition by hash (organization)', v_table.name);
for v_remainder in 0 .. v_partitions - 1 loop
  execute format('create table {schema}.%I partition of {schema}.%I for values with (modulus %s, remainder %s)%s',
    v_table.name || '_p' || v_remainder, v_table.name, v_partitions, v_remainder,
    ' with (' || array_to_string(v_table.options, ', ') || ')');
end loop;
execute format('insert into {schema}.%I select * from {schema}.undivided', v_table.name);
drop table {schema}.undivided;
execute format('alter table {schema}.%I add %s', v_table.name, v_key);
foreach v_index in array coalesce(v_indexes, '{}') loop
  execute v_index;
end loop;
`

/** A block that divides the tables that a condition on `c`, their row of `pg_class`, selects. */
const divideTables = (partitions: string, condition: string): string => `
declare
  v_partitions integer := ${partitions};
  v_table record;
  v_indexes text[];
  v_index text;
  v_key text;
begin
  if v_partitions > 0 then
    for v_table in
      select c.oid, c.relname::text as name, c.reloptions as options from pg_class c
        where c.relnamespace = '{schema}'::regnamespace and c.relkind = 'r' and not c.relispartition and ${condition}
        order by c.relname
    loop
${divideTable}
    end loop;
  end if;
end;
`

/** Tables whose primary key has the organization and more, except for those that stay whole. */
const LARGE_TABLES = `c.relname <> all (array[${WHOLE_TABLES.map((name) => `'${name}'`).join(", ")}])
          and exists (
            select from pg_index x join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
              where x.indrelid = c.oid and x.indisprimary and x.indnkeyatts > 1 and a.attname = 'organization'
          )`

/**
 * Divides the large tables into as many partitions as the setting `{partitions}` says, if it says any; existing rows are
 * moved, while everything else waits.
 */
export const partitions = `
${partitioningTable}${firstPartitioning}${divideTables("{partitions}", LARGE_TABLES)}`

/**
 * For a later step that makes a large table: divides the new table like the others, where those are divided. Its unique
 * indexes must have the organization.
 */
export const dividedLikeOthers = (table: string): string =>
  divideTables("(select p.partitions from {schema}.partitioning p)", `c.relname = '${table}'`)

/**
 * For a later step that changes storage parameters, which a divided table has only in its partitions: sets them wherever the
 * rows of a table are.
 */
export const storageParameters = (table: string, parameters: string): string => `
declare
  v_table regclass;
begin
  for v_table in
    select c.oid from pg_class c left join pg_inherits i on i.inhrelid = c.oid
      where c.relkind = 'r' and '{schema}.${table}'::regclass in (c.oid, i.inhparent)
  loop
    execute format('alter table %s set (${parameters})', v_table);
  end loop;
end;
`
