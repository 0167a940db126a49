/**
 * Approval sessions of mandates, and subjects with their passkeys. Both are written by appends only, except for a subject that an operator changes.
 */
export const approvalTables = `
create table {schema}.approval_session (
  organization text collate "C" not null,
  session text collate "C" not null,
  mandate text collate "C" not null,
  ordinal bigint not null, -- rises from session to session of a mandate
  token_hash text collate "C" not null,
  record text not null,
  primary key (organization, session)
);
create index approval_session_ordinal on {schema}.approval_session (organization, mandate, ordinal)
  where ordinal is not null;

create table {schema}.subject (
  organization text collate "C" not null,
  subject text collate "C" not null,
  revision bigint not null, -- compared by whoever replaces the record
  record text not null,
  primary key (organization, subject)
);
`
