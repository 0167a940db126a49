/**
 * Attempts that are open, which are counted whenever more are opened. Each has an entry of its own: entries of one key that share
 * one are not found to be dead one by one, and all that were open since the table was vacuumed would be read again.
 */
export const openAttemptIndex = `create index webhook_delivery_open on {schema}.webhook_delivery (organization, endpoint)
  with (deduplicate_items = off) where open_token is not null;
`

/**
 * Webhook endpoints and their deliveries.
 *
 * All statements take locks in the same order: those of an append, claims, endpoints by their key, deliveries. Opening
 * attempts waits for no lock.
 */
export const webhookTables = `
create table {schema}.webhook_endpoint (
  organization text collate "C" not null,
  endpoint text collate "C" not null,
  delivery_suffix text collate "C" not null, -- end of the identifiers of its deliveries
  revision bigint not null,
  slot bigint, -- from 1, one for each endpoint that is not deleted: of several that come at once each gets another
  status text collate "C" not null,
  event_types text[] not null, -- '*' for all of them
  generation bigint not null, -- counts reactivations
  held_until bigint, -- until when, and how many more, deliveries are kept while it is disabled
  held_left bigint,
  missed_since bigint, -- when the first delivery was not kept since it was disabled
  record text not null,
  primary key (organization, endpoint)
);
create unique index webhook_endpoint_slot on {schema}.webhook_endpoint (organization, slot) where slot is not null;

-- The queue is 'due' while a delivery waits for an attempt, 'later' while it waits for a time to come, 'frozen' when its
-- endpoint was found not to be active, and null while an attempt is open or none will come: what is not due costs nothing
-- when attempts are opened, however much there is. The open columns say who attempts it, and until when nobody else may.
create table {schema}.webhook_delivery (
  organization text collate "C" not null,
  endpoint text collate "C" not null,
  delivery text collate "C" not null,
  event text collate "C" not null,
  event_type text collate "C" not null,
  created_at bigint not null,
  state text collate "C" not null,
  queue text collate "C",
  next_attempt_at bigint,
  open_token text collate "C",
  open_at bigint,
  open_expires_at bigint,
  open_generation bigint,
  attempts text,
  body text not null,
  ended_at bigint, -- when the state became final
  primary key (organization, endpoint, delivery)
);
create index webhook_delivery_queue on {schema}.webhook_delivery
  (queue, endpoint, organization, next_attempt_at, delivery) where queue is not null;
create index webhook_delivery_later on {schema}.webhook_delivery (next_attempt_at) where queue = 'later';
create index webhook_delivery_ended on {schema}.webhook_delivery (organization, endpoint, ended_at)
  where state <> 'pending';
${openAttemptIndex}create index webhook_delivery_expiry on {schema}.webhook_delivery (open_expires_at) where open_token is not null;

-- A row for each endpoint, locked by whoever opens attempts of it, so that their number is exact. The endpoint's own row is
-- left to those who record the ends of attempts meanwhile.
create table {schema}.webhook_attempt_lock (
  organization text collate "C" not null,
  endpoint text collate "C" not null,
  primary key (organization, endpoint)
);
`
