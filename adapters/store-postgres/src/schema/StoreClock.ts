/** The store's clock, in nanoseconds since the epoch; its resolution is a microsecond. */
export const storeClock = `
create or replace function {schema}.store_clock() returns bigint language sql
  as 'select (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000';
`
