/**
 * Webhook endpoints and their deliveries.
 *
 * `slot` numbers an organization's endpoints that are not deleted, from 1: of several that come at once each gets another.
 * `event_types` holds `*` for all of them. `held_until` and `held_left` say until when, and how many more, deliveries are
 * kept for a disabled endpoint. A delivery is in columns, but for its `attempts`, which are a record. `queue` is `due` while
 * it waits for an attempt, `frozen` when its endpoint was found not to be active, and null while an attempt is open or none
 * will come: what is frozen costs a claim nothing, however much there is.
 *
 * Deliveries are made by a trigger, so that releases that know nothing of them make them too, whichever function they append
 * with. It sees the endpoints whose change was committed when it runs: one that is made while an event is being recorded
 * may miss that event, and gets every event whose append began after it was made.
 *
 * Locks are taken in one order by everybody: what an append locks, claims, endpoints by their key, deliveries. Fan-out locks
 * disabled endpoints alone, to count what is kept for them and to see whether they are active again. A claim of work waits
 * for nothing; among claims the lock of an endpoint keeps the number that are under way exact.
 */
export const webhooks = `
create table {schema}.webhook_endpoint (
  organization text collate "C" not null,
  endpoint text collate "C" not null,
  revision bigint not null,
  slot bigint,
  status text collate "C" not null,
  event_types text[] not null,
  generation bigint not null,
  held_until bigint,
  held_left bigint,
  missed_since bigint,
  record text not null,
  primary key (organization, endpoint)
);
create unique index webhook_endpoint_slot on {schema}.webhook_endpoint (organization, slot) where slot is not null;

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
  primary key (organization, endpoint, delivery)
);
create index webhook_delivery_queue on {schema}.webhook_delivery
  (queue, endpoint, organization, next_attempt_at, delivery) where queue is not null;
create index webhook_delivery_open on {schema}.webhook_delivery (organization, endpoint) where open_token is not null;
create index webhook_delivery_expiry on {schema}.webhook_delivery (open_expires_at) where open_token is not null;

-- The canonical body of an event's deliveries (part 8), from its canonical text. The state of a mandate follows from the
-- type of its event; one that is approved is active if it had started by then, compared as text of equal length.
create function {schema}.webhook_body(p_organization text, p_mandate text, p_text text) returns text
language plpgsql stable as $body$
declare
  v_event json := p_text::json;
  v_type text := v_event ->> 'type';
  v_at text := v_event ->> 'occurred_at';
  v_starts_at text;
  v_state text;
begin
  if v_type = 'mandate.approved' then
    select rtrim(e.text::json #>> '{data,window,starts_at}', 'Z') into v_starts_at from {schema}.event e
      where e.organization = p_organization and e.mandate = p_mandate and e.seq = 1;
    v_starts_at := rpad(v_starts_at || case when position('.' in v_starts_at) = 0 then '.' else '' end, 29, '0');
    v_state := case when rtrim(v_at, 'Z') >= v_starts_at collate "C" then 'ACTIVE' else 'SCHEDULED' end;
  else
    v_state := case v_type when 'mandate.created' then 'PENDING_APPROVAL' when 'mandate.activated' then 'ACTIVE'
      when 'mandate.rejected' then 'REJECTED' when 'mandate.consumed' then 'CONSUMED'
      when 'mandate.revoked' then 'REVOKED' when 'mandate.expired' then 'EXPIRED' end;
  end if;
  return '{"data":{' || coalesce('"authorization_id":' || to_json(v_event ->> 'authorization_id')::text || ',', '')
    || '"mandate_id":' || to_json(p_mandate)::text || coalesce(',"state":"' || v_state || '"', '')
    || ',"version":' || (v_event ->> 'mandate_version') || '},"id":' || to_json(v_event ->> 'id')::text
    || ',"occurred_at":' || to_json(v_at)::text || ',"type":' || to_json(v_type)::text || '}';
end
$body$;

create function {schema}.fan_out_event() returns trigger language plpgsql as $fan$
declare
  v_found record;
  v_held record;
  v_clock bigint;
  v_queue text;
  v_body text;
begin
  -- Most organizations have none, and this costs a third of a loop that finds none.
  perform 1 from {schema}.webhook_endpoint e where e.organization = new.organization and e.slot is not null limit 1;
  if not found then return null; end if;
  for v_found in
    select e.endpoint, e.status, e.missed_since from {schema}.webhook_endpoint e
      where e.organization = new.organization and e.slot is not null
        and e.event_types && array['*', new.type::text]
      order by e.endpoint
  loop
    v_clock := (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000;
    v_queue := 'due';
    if v_found.status = 'disabled' then
      continue when v_found.missed_since is not null;
      select e.status, e.held_until, e.held_left into v_held from {schema}.webhook_endpoint e
        where e.organization = new.organization and e.endpoint = v_found.endpoint for update;
      continue when v_held.status = 'deleted';
      if v_held.status = 'disabled' then
        if v_held.held_left <= 0 or v_clock >= v_held.held_until then
          update {schema}.webhook_endpoint e set missed_since = v_clock
            where e.organization = new.organization and e.endpoint = v_found.endpoint and e.missed_since is null;
          continue;
        end if;
        update {schema}.webhook_endpoint e set held_left = e.held_left - 1
          where e.organization = new.organization and e.endpoint = v_found.endpoint;
        v_queue := 'frozen';
      end if;
    end if;
    v_body := coalesce(v_body, {schema}.webhook_body(new.organization, new.mandate, new.text));
    insert into {schema}.webhook_delivery (organization, endpoint, delivery, event, event_type, created_at, state,
        queue, next_attempt_at, body)
      values (new.organization, v_found.endpoint,
        'dlv_' || substr(new.id, 5, 10) || left(replace(gen_random_uuid()::text, '-', ''), 16),
        new.id, new.type, v_clock, 'pending', v_queue, v_clock, v_body);
  end loop;
  return null;
end
$fan$;

create trigger fan_out after insert on {schema}.event for each row execute function {schema}.fan_out_event();

-- Claims come in the order in which they are taken; p_places says where each stood. All null when none is held.
create function {schema}.take_claims(
  p_organization text, p_kinds text[], p_names text[], p_fingerprints text[], p_resources text[],
  p_expiries text[], p_places text[],
  out o_kind text, out o_fingerprint text, out o_resource text
) language plpgsql set enable_seqscan = off as $claims$
declare
  v_clock bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000;
  v_lost integer;
begin
  for v_at in 1 .. cardinality(p_names) loop
    insert into {schema}.claim (organization, kind, name, fingerprint, resource, expires_at)
      values (p_organization, p_kinds[v_at], p_names[v_at], p_fingerprints[v_at], p_resources[v_at],
        nullif(p_expiries[v_at], '')::bigint)
      on conflict do nothing;
    continue when found;
    update {schema}.claim held set fingerprint = p_fingerprints[v_at], resource = p_resources[v_at],
        expires_at = nullif(p_expiries[v_at], '')::bigint
      where held.organization = p_organization and held.kind = p_kinds[v_at] and held.name = p_names[v_at]
        and held.expires_at <= v_clock;
    if not found and (v_lost is null or p_places[v_at]::integer < p_places[v_lost]::integer) then
      v_lost := v_at;
    end if;
  end loop;
  if v_lost is null then return; end if;
  o_kind := p_kinds[v_lost];
  select c.fingerprint, c.resource into o_fingerprint, o_resource from {schema}.claim c
    where c.organization = p_organization and c.kind = o_kind and c.name = p_names[v_lost];
end
$claims$;

-- Replaces an endpoint that has the expected revision; null when it has not.
create function {schema}.replace_webhook_endpoint(
  p_organization text, p_endpoint text, p_expected bigint, p_status text, p_event_types text[],
  p_generation bigint, p_held_until bigint, p_held_left bigint, p_record text
) returns bigint language plpgsql set enable_seqscan = off as $replace$
declare
  v_before text;
begin
  select e.status into v_before from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint and e.revision = p_expected for update;
  if not found then return null; end if;
  update {schema}.webhook_endpoint e set revision = p_expected + 1,
      slot = case when p_status <> 'deleted' then e.slot end, status = p_status, event_types = p_event_types,
      generation = p_generation, held_until = p_held_until, record = p_record,
      held_left = case when p_status = 'disabled' and v_before = 'disabled' then e.held_left else p_held_left end,
      missed_since = case when p_status <> 'active' then e.missed_since end
    where e.organization = p_organization and e.endpoint = p_endpoint;
  if p_status = 'active' and v_before <> 'active' then
    update {schema}.webhook_delivery d set queue = 'due'
      where d.organization = p_organization and d.endpoint = p_endpoint and d.queue = 'frozen';
  end if;
  return p_expected + 1;
end
$replace$;

-- The outcome is recorded, stale, claim_taken (with the holder) or limit; all but the first leave no trace.
create function {schema}.change_webhook_endpoint(
  p_organization text, p_endpoint text, p_expected bigint, p_status text, p_event_types text[],
  p_generation bigint, p_held_until bigint, p_held_left bigint, p_record text,
  p_limit bigint, p_spread_now bigint, p_spread_over bigint,
  p_claim_kinds text[], p_claim_names text[], p_claim_fingerprints text[], p_claim_resources text[],
  p_claim_expiries text[], p_claim_places text[],
  out o_outcome text, out o_revision bigint, out o_kind text, out o_fingerprint text, out o_resource text
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $change$
declare
  v_revision bigint;
  v_living bigint;
begin
  o_outcome := 'stale';
  select e.revision into v_revision from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint;
  if v_revision is distinct from p_expected then raise sqlstate 'SV000'; end if;
  select * into o_kind, o_fingerprint, o_resource from {schema}.take_claims(p_organization, p_claim_kinds,
    p_claim_names, p_claim_fingerprints, p_claim_resources, p_claim_expiries, p_claim_places);
  if o_kind is not null then o_outcome := 'claim_taken'; raise sqlstate 'SV000'; end if;

  if p_expected is not null then
    o_revision := {schema}.replace_webhook_endpoint(p_organization, p_endpoint, p_expected, p_status, p_event_types,
      p_generation, p_held_until, p_held_left, p_record);
    if o_revision is null then raise sqlstate 'SV000'; end if;
    if p_spread_now is not null then
      update {schema}.webhook_delivery d set next_attempt_at = p_spread_now + p_spread_over * w.place / w.total
        from (
          select q.delivery, row_number() over (order by q.next_attempt_at, q.delivery) - 1 as place,
            count(*) over () as total
          from {schema}.webhook_delivery q where q.organization = p_organization and q.endpoint = p_endpoint
            and q.queue = 'due' and q.next_attempt_at <= p_spread_now
        ) w
        where d.organization = p_organization and d.endpoint = p_endpoint and d.delivery = w.delivery
          and d.open_token is null;
    end if;
  else
    select count(*) into v_living from {schema}.webhook_endpoint e
      where e.organization = p_organization and e.slot is not null;
    if v_living < p_limit then
      for v_slot in 1 .. p_limit loop
        insert into {schema}.webhook_endpoint (organization, endpoint, revision, slot, status, event_types,
            generation, held_until, held_left, record)
          values (p_organization, p_endpoint, 1, v_slot, p_status, p_event_types, p_generation, p_held_until,
            p_held_left, p_record)
          on conflict do nothing;
        if found then o_revision := 1; exit; end if;
      end loop;
    end if;
    if o_revision is null then
      perform 1 from {schema}.webhook_endpoint e
        where e.organization = p_organization and e.endpoint = p_endpoint;
      if not found then o_outcome := 'limit'; end if;
      raise sqlstate 'SV000';
    end if;
  end if;
  o_outcome := 'recorded';
exception
  when sqlstate 'SV000' then
    o_revision := null;
end
$change$;

-- The outcome is recorded, stale or claim_taken.
create function {schema}.add_webhook_delivery(
  p_organization text, p_endpoint text, p_delivery text, p_event text, p_event_type text, p_created_at bigint,
  p_next_attempt_at bigint, p_body text,
  p_claim_kinds text[], p_claim_names text[], p_claim_fingerprints text[], p_claim_resources text[],
  p_claim_expiries text[], p_claim_places text[],
  out o_outcome text, out o_kind text, out o_fingerprint text, out o_resource text
) language plpgsql set enable_seqscan = off as $add$
begin
  o_outcome := 'stale';
  perform 1 from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint and e.status = 'active';
  if not found then raise sqlstate 'SV000'; end if;
  select * into o_kind, o_fingerprint, o_resource from {schema}.take_claims(p_organization, p_claim_kinds,
    p_claim_names, p_claim_fingerprints, p_claim_resources, p_claim_expiries, p_claim_places);
  if o_kind is not null then o_outcome := 'claim_taken'; raise sqlstate 'SV000'; end if;
  perform 1 from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint and e.status = 'active' for share;
  if not found then raise sqlstate 'SV000'; end if;
  insert into {schema}.webhook_delivery (organization, endpoint, delivery, event, event_type, created_at, state,
      queue, next_attempt_at, body)
    values (p_organization, p_endpoint, p_delivery, p_event, p_event_type, p_created_at, 'pending',
      'due', p_next_attempt_at, p_body);
  o_outcome := 'recorded';
exception
  when sqlstate 'SV000' then
    null;
end
$add$;

-- Each endpoint for which something waits, over all organizations, with the earliest: one look at the index for each,
-- however many deliveries it has.
create function {schema}.webhook_queues()
returns table (endpoint text, organization text, next_attempt_at bigint)
language plpgsql rows 10 set enable_seqscan = off set enable_sort = off as $queues$
declare
  v_found record;
begin
  select d.endpoint, d.organization, d.next_attempt_at into v_found from {schema}.webhook_delivery d
    where d.queue = 'due' order by d.endpoint, d.organization, d.next_attempt_at limit 1;
  while found loop
    endpoint := v_found.endpoint;
    organization := v_found.organization;
    next_attempt_at := v_found.next_attempt_at;
    return next;
    select d.endpoint, d.organization, d.next_attempt_at into v_found from {schema}.webhook_delivery d
      where d.queue = 'due' and (d.endpoint, d.organization) > (v_found.endpoint, v_found.organization)
      order by d.endpoint, d.organization, d.next_attempt_at limit 1;
  end loop;
end
$queues$;

create function {schema}.claim_webhook_deliveries(
  p_token text, p_limit bigint, p_per_endpoint bigint, p_nanos bigint
) returns table (
  o_organization text, o_endpoint text, o_revision bigint, o_missed_since bigint, o_endpoint_record text,
  o_delivery text, o_event text, o_event_type text, o_created_at bigint, o_state text, o_next_attempt_at bigint,
  o_open_token text, o_open_at bigint, o_open_expires_at bigint, o_open_generation bigint, o_attempts text, o_body text
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $claim$
declare
  v_clock bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000;
  v_organizations text[];
  v_endpoints text[];
  v_picked record;
begin
  -- Those that wait longest, without those that have all they may have under way.
  select array_agg(l.organization), array_agg(l.endpoint) into v_organizations, v_endpoints from (
    select e.organization, e.endpoint from {schema}.webhook_queues() q
      join {schema}.webhook_endpoint e on e.organization = q.organization and e.endpoint = q.endpoint
      where q.next_attempt_at <= v_clock and e.status = 'active' and p_per_endpoint > (
        select count(*) from (
          select from {schema}.webhook_delivery o where o.organization = e.organization and o.endpoint = e.endpoint
            and o.open_token is not null limit p_per_endpoint
        ) under_way)
      order by q.next_attempt_at, q.endpoint limit p_limit
      for update of e skip locked
  ) l;
  -- Counted again under the locks.
  for v_picked in
    select w.organization, w.endpoint, t.delivery
      from unnest(v_organizations, v_endpoints) w (organization, endpoint)
      cross join lateral (
        select d.delivery, d.next_attempt_at,
          row_number() over (order by d.next_attempt_at, d.delivery) as turn
        from {schema}.webhook_delivery d
        where d.organization = w.organization and d.endpoint = w.endpoint and d.queue = 'due'
          and d.next_attempt_at <= v_clock
        order by d.next_attempt_at, d.delivery
        limit greatest(0, p_per_endpoint - (
          select count(*) from {schema}.webhook_delivery o
            where o.organization = w.organization and o.endpoint = w.endpoint and o.open_token is not null))
      ) t
      order by t.turn, t.next_attempt_at, w.endpoint limit p_limit
  loop
    return query update {schema}.webhook_delivery d
      set queue = null, open_token = p_token, open_at = v_clock, open_expires_at = v_clock + p_nanos,
        open_generation = e.generation
      from {schema}.webhook_endpoint e
      where d.organization = v_picked.organization and d.endpoint = v_picked.endpoint
        and d.delivery = v_picked.delivery and e.organization = v_picked.organization
        and e.endpoint = v_picked.endpoint
      returning e.organization, e.endpoint, e.revision, e.missed_since, e.record, d.delivery, d.event, d.event_type,
        d.created_at, d.state, d.next_attempt_at, d.open_token, d.open_at, d.open_expires_at, d.open_generation,
        d.attempts, d.body;
  end loop;
  if v_picked is null then
    -- Nothing to do, so there is time to put away what waits where nothing is sent.
    select e.organization, e.endpoint into v_picked from {schema}.webhook_queues() q
      join {schema}.webhook_endpoint e on e.organization = q.organization and e.endpoint = q.endpoint
      where e.status <> 'active' limit 1 for update of e skip locked;
    update {schema}.webhook_delivery d set queue = 'frozen'
      where d.organization = v_picked.organization and d.endpoint = v_picked.endpoint and d.delivery in (
        select w.delivery from {schema}.webhook_delivery w
          where w.organization = v_picked.organization and w.endpoint = v_picked.endpoint and w.queue = 'due'
          limit p_limit);
  end if;
end
$claim$;

-- The revision after it; null when it is stale, which leaves no trace.
create function {schema}.record_webhook_attempts(
  p_organization text, p_endpoint text, p_expected bigint, p_status text, p_event_types text[],
  p_generation bigint, p_held_until bigint, p_held_left bigint, p_record text,
  p_deliveries text[], p_tokens text[], p_states text[], p_next_attempts text[], p_attempts text[],
  out o_revision bigint
) language plpgsql set enable_seqscan = off as $record$
begin
  o_revision := {schema}.replace_webhook_endpoint(p_organization, p_endpoint, p_expected, p_status, p_event_types,
    p_generation, p_held_until, p_held_left, p_record);
  if o_revision is null then return; end if;
  for v_at in 1 .. cardinality(p_deliveries) loop
    update {schema}.webhook_delivery d set state = p_states[v_at],
        next_attempt_at = nullif(p_next_attempts[v_at], '')::bigint, attempts = p_attempts[v_at],
        queue = case when p_states[v_at] <> 'pending' then null when p_status = 'active' then 'due' else 'frozen' end,
        open_token = null, open_at = null, open_expires_at = null, open_generation = null
      where d.organization = p_organization and d.endpoint = p_endpoint and d.delivery = p_deliveries[v_at]
        and d.open_token = p_tokens[v_at];
    if not found then raise sqlstate 'SV000'; end if;
  end loop;
exception
  when sqlstate 'SV000' then
    o_revision := null;
end
$record$;
`
