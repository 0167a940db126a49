/**
 * Into how many partitions by organization the large tables are divided; 0 if each is a single table. One row, written when
 * the schema is made.
 */
export const partitioningTable = `
create table {schema}.partitioning (
  partitions integer not null
);
`

/** Records the number that the schema is made with. */
export const firstPartitioning = `
insert into {schema}.partitioning (partitions) values ({partitions});
`
