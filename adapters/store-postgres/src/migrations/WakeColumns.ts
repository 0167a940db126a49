/** Columns that the next step fills, in a step of its own because it needs a lock that reads wait for. */
export const wakeColumns = `
alter table {schema}.stream add column wake_at bigint,
  add column open_authorizations text[] collate "C" not null default '{}';
alter table {schema}.stream set (fillfactor = 60);
alter table {schema}.authorization_row set (fillfactor = 55);
`
