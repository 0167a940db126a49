/** The tables of the hand-written service. */
export const PEER_TABLES = `
create table mandate (
  organization text not null,
  id text not null,
  status text not null,
  currency text not null,
  max_amount bigint not null,
  allowed_actions text[] not null,
  ends_at timestamptz not null,
  month_limit bigint not null,
  seq bigint not null, -- of the last event
  head text not null, -- its hash
  primary key (organization, id)
);
create table budget (
  organization text not null,
  mandate text not null,
  month date not null,
  reserved bigint not null,
  committed bigint not null,
  executions bigint not null,
  primary key (organization, mandate, month)
);
create table authorization_row (
  organization text not null,
  id text not null,
  mandate text not null,
  state text not null,
  amount bigint not null,
  month date not null, -- whose budget it is of
  commitment text not null,
  expires_at timestamptz not null,
  resource text not null,
  primary key (organization, id),
  unique (organization, commitment)
);
create index on authorization_row (organization, mandate, id);
create index on authorization_row (organization, mandate, expires_at) where state = 'RESERVED';
create table event (
  organization text not null,
  mandate text not null,
  seq bigint not null,
  hash text not null,
  type text not null,
  text text not null,
  primary key (organization, mandate, seq)
);
create table idempotency_key (
  organization text not null,
  key text not null,
  fingerprint text not null,
  status int not null,
  body text not null,
  created_at timestamptz not null default now(),
  primary key (organization, key)
);
`

/** Inserts the mandates named in $2, a JSON list of texts, of the organization $1. */
export const INSERT_MANDATES = `
insert into mandate (organization, id, status, currency, max_amount, allowed_actions, ends_at, month_limit, seq, head)
select $1::text, id, 'ACTIVE', 'EUR', 5000, '{card.create}', now() + interval '30 days', 9007199254740991, 0, ''
from json_array_elements_text($2::json) id`
