/**
 * Mandates: the stream of each with its events, its authorizations, and the unique claims of its appends.
 *
 * The state of the domain is stored as text in `snapshot`, `record` and `reservation`; the other columns serve the
 * conditions of statements. Instants are nanoseconds since the epoch. Those beyond the range of a bigint are clamped to it
 * and only compared.
 *
 * No index of `stream` or `authorization_row` has a column that an append usually changes, and their pages keep room for the
 * next version of a row, so that most updates are heap-only: they add no entry to any index and leave nothing to vacuum.
 *
 * Indexes beside the primary key are partial even where their condition holds for every row: `is not null` is implied only by
 * statements that compare that column. A look-up by key has then no other index to choose, and a plan made while tables are
 * small or organizations even cannot read all rows of one.
 */
export const streamTables = `
create table {schema}.stream (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  revision bigint not null, -- counts appends, those without events too
  seq bigint not null, -- counts events
  hash text not null, -- of the last event
  occurred_at bigint not null, -- of the last event
  bytes bigint not null, -- of all event texts
  schema integer not null, -- of the latest release that wrote the stream
  state text collate "C" not null,
  subject text collate "C" not null,
  next_due bigint, -- when the next transition is due by time alone
  wake_at bigint, -- when to look whether it is due: not after next_due, and null with it
  open_authorizations text[] collate "C" not null default '{}',
  snapshot text not null,
  primary key (organization, mandate)
) with (fillfactor = 60);
create index stream_subject on {schema}.stream (organization, subject, mandate) where subject is not null;
create index stream_state on {schema}.stream (organization, state, mandate) where state is not null;
create index stream_wake on {schema}.stream (organization, wake_at, mandate) where wake_at is not null;
create index stream_wake_of_all on {schema}.stream (wake_at, mandate) where wake_at is not null;

-- The text is never rewritten. The position orders an organization's events over all its mandates: by the transaction that
-- recorded them, and within one by mandate and seq. A transaction gets its number before it writes, and a reader who stays
-- below the lowest number that is still at work meets nothing later that should have come before. That needs no sequence and
-- no lock, and costs an append one entry of an index.
create table {schema}.event (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  seq bigint not null,
  position bigint not null default pg_current_xact_id()::text::bigint,
  schema integer not null,
  id text collate "C" not null,
  type text collate "C" not null,
  text text not null,
  primary key (organization, mandate, seq)
);
create index event_feed on {schema}.event (organization, position, mandate, seq);

-- expires_at and reservation are set while the authorization is open; the stream names those that are.
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
) with (fillfactor = 55);
create unique index authorization_row_ordinal on {schema}.authorization_row (organization, mandate, ordinal)
  where ordinal is not null;

-- Which authorizations have reached which final state, to list them by it: an index of the rows themselves would gain an
-- entry of all their indexes when one closes. A row is written once.
create table {schema}.closed_authorization (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  state text collate "C" not null,
  ordinal bigint not null,
  authorization_id text collate "C" not null,
  primary key (organization, mandate, state, ordinal)
);

-- Names that may be used once: idempotency keys, commitments, identity assertions, challenges. The fingerprint says whether
-- a repetition asks for the same, the resource what came of it. One that has expired may be taken again. The key of a
-- redelivery or a test is removed with its delivery.
create table {schema}.claim (
  organization text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  fingerprint text not null,
  resource text not null,
  expires_at bigint,
  primary key (organization, kind, name)
);
create index claim_expiry on {schema}.claim (organization, expires_at) where expires_at is not null;
create index claim_of_delivery on {schema}.claim (organization, resource)
  where kind = 'idempotency_key' and left(resource, 4) = 'dlv_';
`
