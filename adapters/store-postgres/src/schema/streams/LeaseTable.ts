/**
 * Work that is under way somewhere: who does it (`token`), and until when nobody else may take it. `kind` says what
 * `name` names, so that every sort of work is leased in one form; a mandate with something due is the kind
 * `due_stream`.
 */
export const leaseTable = `
create table {schema}.lease (
  organization text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  token text collate "C" not null,
  expires_at bigint not null,
  primary key (organization, kind, name)
);
create index lease_expiry on {schema}.lease (kind, expires_at);
`
