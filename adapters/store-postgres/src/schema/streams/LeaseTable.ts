/**
 * Leases of work in progress: which worker has it (`token`), and until when no other may take it. `kind` says what `name`
 * identifies, so that every sort of work is leased in one form; a mandate with something due is of the kind `due_stream`.
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
