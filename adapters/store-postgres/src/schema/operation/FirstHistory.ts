/** Begins the first history, once the tables and functions exist. */
export const firstHistory = `
insert into {schema}.history (ordinal, history, began_at, cluster, timeline, continues)
  select 1, left(replace(gen_random_uuid()::text, '-', ''), 16),
    {schema}.store_clock(), i.o_cluster, i.o_timeline, false
  from {schema}.database_identity() i;
`
