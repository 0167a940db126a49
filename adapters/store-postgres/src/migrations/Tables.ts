/**
 * Tables. Every primary key begins with the organization, text is compared by its bytes, instants are nanoseconds
 * since the epoch (those that lie beyond the range of a bigint are held at its end, for comparison only). What the
 * domain folds is kept as text in `snapshot`, `record` and `reservation`; the columns beside it are what statements
 * look for. `event.text` is never rewritten.
 */
export const tables = `
create table {schema}.organization (
  organization text collate "C" primary key,
  record text not null
);

create table {schema}.api_key (
  organization text collate "C" not null,
  api_key text collate "C" not null,
  hash text collate "C" not null,
  record text not null,
  primary key (organization, api_key)
);
create unique index api_key_hash on {schema}.api_key (hash);

create table {schema}.stream (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  revision bigint not null,
  seq bigint not null,
  hash text not null,
  occurred_at bigint not null,
  bytes bigint not null,
  schema integer not null,
  state text collate "C" not null,
  subject text collate "C" not null,
  next_due bigint,
  snapshot text not null,
  primary key (organization, mandate)
);
create index stream_subject on {schema}.stream (organization, subject, mandate);
create index stream_state on {schema}.stream (organization, state, mandate);
create index stream_due on {schema}.stream (organization, next_due, mandate) where next_due is not null;
create index stream_due_of_all on {schema}.stream (next_due, mandate) where next_due is not null;

create table {schema}.event (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  seq bigint not null,
  schema integer not null,
  id text collate "C" not null,
  type text collate "C" not null,
  text text not null,
  primary key (organization, mandate, seq)
);

create table {schema}.authorization_row (
  organization text collate "C" not null,
  authorization_id text collate "C" not null,
  mandate text collate "C" not null,
  ordinal bigint not null,
  state text collate "C" not null,
  expires_at bigint,
  reservation text,
  record text not null,
  primary key (organization, authorization_id)
);
create unique index authorization_row_ordinal on {schema}.authorization_row (organization, mandate, ordinal);
create index authorization_row_state on {schema}.authorization_row (organization, mandate, state, ordinal);

create table {schema}.approval_session (
  organization text collate "C" not null,
  session text collate "C" not null,
  mandate text collate "C" not null,
  ordinal bigint not null,
  token_hash text collate "C" not null,
  record text not null,
  primary key (organization, session)
);
create unique index approval_session_token on {schema}.approval_session (token_hash);
create index approval_session_ordinal on {schema}.approval_session (organization, mandate, ordinal);

create table {schema}.subject (
  organization text collate "C" not null,
  subject text collate "C" not null,
  revision bigint not null,
  record text not null,
  primary key (organization, subject)
);

create table {schema}.claim (
  organization text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  fingerprint text not null,
  resource text not null,
  expires_at bigint,
  primary key (organization, kind, name)
);

create table {schema}.signing_key (
  organization text collate "C" not null,
  kid text collate "C" not null,
  state text collate "C" not null,
  created_at bigint not null,
  public_jwk text not null,
  sealed text not null,
  primary key (organization, kid)
);
create unique index signing_key_signing on {schema}.signing_key (organization) where state = 'SIGNING';
`
