/**
 * Claims and ends of attempts in one statement for many, at a cost that follows what is due.
 *
 * `queue` is `later` while a delivery waits for a time to come: a claim takes those whose time has come to `due`, and looks
 * at endpoints with something `due` alone, however many wait for a retry. A claim gives each organization, and each
 * endpoint in it, a bounded share of what may be under way, those first that have the least of it: whoever does not answer
 * holds up nobody, and no longer if its endpoint is deleted meanwhile.
 *
 * Plans are made once for each connection: one that is made for the very arguments costs more than it saves.
 *
 * What is called by earlier releases does the same as what they know it for, by way of the functions here.
 */
export const webhookBatches = `
create index webhook_delivery_later on {schema}.webhook_delivery (next_attempt_at) where queue = 'later';

create function {schema}.store_clock() returns bigint language sql
  as 'select (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000';

create function {schema}.claim_webhook_attempts(
  p_token text, p_limit bigint, p_per_endpoint bigint, p_assured bigint, p_per_organization bigint, p_nanos bigint
) returns table (
  o_organization text, o_endpoint text, o_revision bigint, o_missed_since bigint, o_endpoint_record text,
  o_delivery text, o_event text, o_event_type text, o_created_at bigint, o_state text, o_next_attempt_at bigint,
  o_open_token text, o_open_at bigint, o_open_expires_at bigint, o_open_generation bigint, o_attempts text, o_body text
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan as $claim$
declare
  v_clock bigint := {schema}.store_clock();
  v_organizations text[];
  v_endpoints text[];
  v_since bigint[];
  v_idle_organizations text[];
  v_idle_endpoints text[];
  v_idle record;
  v_rows bigint;
  v_moved bigint := 0;
begin
  -- Nobody is sent anything at an endpoint that is deleted; one that is disabled may be active again.
  update {schema}.webhook_delivery d set queue = case when come.status = 'deleted' then 'frozen' else 'due' end
    from (
      select l.organization, l.endpoint, l.delivery, (
          select e.status from {schema}.webhook_endpoint e
            where e.organization = l.organization and e.endpoint = l.endpoint
        ) as status from {schema}.webhook_delivery l
        where l.queue = 'later' and l.next_attempt_at <= v_clock
        order by l.next_attempt_at limit 32 * p_limit for update skip locked
    ) come
    where d.organization = come.organization and d.endpoint = come.endpoint and d.delivery = come.delivery;

  select array_agg(f.organization) filter (where f.is_due), array_agg(f.endpoint) filter (where f.is_due),
      array_agg(f.next_attempt_at) filter (where f.is_due),
      array_agg(f.organization) filter (where not f.is_due), array_agg(f.endpoint) filter (where not f.is_due)
    into v_organizations, v_endpoints, v_since, v_idle_organizations, v_idle_endpoints
    from (
      select e.organization, e.endpoint, q.next_attempt_at,
        e.status = 'active' and q.next_attempt_at <= v_clock as is_due
      from {schema}.webhook_queues() q
        join {schema}.webhook_endpoint e on e.organization = q.organization and e.endpoint = q.endpoint
    ) f;

  select array_agg(l.organization), array_agg(l.endpoint) into v_organizations, v_endpoints from (
    select w.organization, w.endpoint from unnest(v_organizations, v_endpoints, v_since) w (organization, endpoint, since)
      cross join lateral (
        select count(*) as open from (
          select from {schema}.webhook_delivery o where o.organization = w.organization and o.endpoint = w.endpoint
            and o.open_token is not null limit p_per_endpoint
        ) of_endpoint
      ) own
      cross join lateral (
        select count(*) as open from (
          select from {schema}.webhook_delivery o where o.organization = w.organization
            and o.open_token is not null limit p_per_organization
        ) of_organization
      ) every
      where own.open < p_per_endpoint and (own.open < p_assured or every.open < p_per_organization)
      order by own.open, w.since, w.endpoint limit p_limit
  ) l;
  -- One claim at a time of each endpoint keeps the number that are under way exact. Ends are recorded meanwhile.
  select array_agg(l.organization), array_agg(l.endpoint) into v_organizations, v_endpoints
    from unnest(v_organizations, v_endpoints) l (organization, endpoint)
    where pg_try_advisory_xact_lock(hashtextextended(l.organization || l.endpoint, 0));
  if v_endpoints is not null then
    return query with picked as materialized (
      select r.organization, r.endpoint, r.delivery,
        row_number() over (order by r.turn, r.next_attempt_at, r.endpoint) as place
      from (
        select w.organization, w.endpoint, t.delivery, t.next_attempt_at, own.open + t.place as turn,
          every.open + row_number() over (
            partition by w.organization order by own.open + t.place, t.next_attempt_at, w.endpoint) as of_organization
        from unnest(v_organizations, v_endpoints) w (organization, endpoint)
          cross join lateral (
            select count(*) as open from {schema}.webhook_delivery o
              where o.organization = w.organization and o.endpoint = w.endpoint and o.open_token is not null
          ) own
          cross join lateral (
            select count(*) as open from {schema}.webhook_delivery o
              where o.organization = w.organization and o.open_token is not null
          ) every
          cross join lateral (
            select d.delivery, d.next_attempt_at, row_number() over (order by d.next_attempt_at, d.delivery) as place
            from {schema}.webhook_delivery d
            where d.organization = w.organization and d.endpoint = w.endpoint and d.queue = 'due'
              and d.next_attempt_at <= v_clock
            order by d.next_attempt_at, d.delivery limit greatest(0, least(p_limit, p_per_endpoint - own.open))
          ) t
      ) r
      where r.of_organization <= p_per_organization or r.turn <= p_assured
      order by place limit p_limit
    ), opened as (
      update {schema}.webhook_delivery d
        set queue = null, open_token = p_token, open_at = v_clock, open_expires_at = v_clock + p_nanos,
          open_generation = e.generation
        from picked p
          join {schema}.webhook_endpoint e on e.organization = p.organization and e.endpoint = p.endpoint
            and e.status = 'active'
        where d.organization = p.organization and d.endpoint = p.endpoint and d.delivery = p.delivery
          -- Not by the index of the queue, which would read all of an endpoint's.
          and coalesce(d.queue, '') = 'due' and d.open_token is null
        returning p.place, e.organization, e.endpoint, e.revision, e.missed_since, e.record, d.delivery, d.event,
          d.event_type, d.created_at, d.state, d.next_attempt_at, d.open_token, d.open_at, d.open_expires_at,
          d.open_generation, d.attempts, d.body
    )
    select o.organization, o.endpoint, o.revision, o.missed_since, o.record, o.delivery, o.event, o.event_type,
        o.created_at, o.state, o.next_attempt_at, o.open_token, o.open_at, o.open_expires_at, o.open_generation,
        o.attempts, o.body
      from opened o order by o.place;
  end if;
  -- What waits where nothing is sent, or for another time, is put away, a little of it while there is other work.
  for v_idle in
    select e.organization, e.endpoint, e.status from unnest(v_idle_organizations, v_idle_endpoints) i (organization, endpoint)
      join {schema}.webhook_endpoint e on e.organization = i.organization and e.endpoint = i.endpoint
      limit p_limit for update of e skip locked
  loop
    update {schema}.webhook_delivery d set queue = case when v_idle.status = 'active' then 'later' else 'frozen' end
      from (
        select w.organization, w.endpoint, w.delivery from {schema}.webhook_delivery w
          where w.organization = v_idle.organization and w.endpoint = v_idle.endpoint and w.queue = 'due'
            and (v_idle.status <> 'active' or w.next_attempt_at > v_clock)
          limit p_limit for update skip locked
      ) idle
      where d.organization = idle.organization and d.endpoint = idle.endpoint and d.delivery = idle.delivery;
    get diagnostics v_rows = row_count;
    v_moved := v_moved + v_rows;
    exit when v_moved >= p_limit;
  end loop;
end
$claim$;

create or replace function {schema}.claim_webhook_deliveries(
  p_token text, p_limit bigint, p_per_endpoint bigint, p_nanos bigint
) returns table (
  o_organization text, o_endpoint text, o_revision bigint, o_missed_since bigint, o_endpoint_record text,
  o_delivery text, o_event text, o_event_type text, o_created_at bigint, o_state text, o_next_attempt_at bigint,
  o_open_token text, o_open_at bigint, o_open_expires_at bigint, o_open_generation bigint, o_attempts text, o_body text
) language plpgsql as $claim$
begin
  return query select * from {schema}.claim_webhook_attempts(p_token, p_limit, p_per_endpoint, p_per_endpoint,
    8 * p_per_endpoint, p_nanos);
end
$claim$;

-- Endpoints, of which p_places says where in the others' lists each ended delivery belongs. Answers the places that were
-- recorded, each with its deliveries whole: not those that are stale nor, where there are several, those that somebody
-- else holds, which nobody here waits for.
create function {schema}.record_webhook_ends(
  p_organizations text[], p_endpoints text[], p_expected text[], p_statuses text[], p_held_until text[],
  p_held_left text[], p_records text[],
  p_places text[], p_deliveries text[], p_tokens text[], p_states text[], p_next_attempts text[], p_attempts text[]
) returns setof bigint
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan as $record$
declare
  v_taken bigint[];
  v_stale bigint[];
begin
  if cardinality(p_endpoints) = 1 then
    select array_agg(1) into v_taken from (
      select from {schema}.webhook_endpoint e where e.organization = p_organizations[1]
        and e.endpoint = p_endpoints[1] and e.revision = p_expected[1]::bigint for update
    ) l;
  else
    select array_agg(l.place) into v_taken from (
      select p.place from unnest(p_organizations, p_endpoints, p_expected) with ordinality
          p (organization, endpoint, expected, place)
        join {schema}.webhook_endpoint e on e.organization = p.organization and e.endpoint = p.endpoint
        where e.revision = p.expected::bigint
        order by p.organization, p.endpoint for update of e skip locked
    ) l;
  end if;
  -- Whoever changes an open attempt holds its endpoint first.
  select array_agg(d.place) into v_stale from unnest(p_places::bigint[], p_deliveries, p_tokens) d (place, delivery, token)
    where not exists (
      select from {schema}.webhook_delivery w where w.organization = p_organizations[d.place]
        and w.endpoint = p_endpoints[d.place] and w.delivery = d.delivery and w.open_token = d.token);
  select array_agg(t.place) into v_taken from unnest(v_taken) t (place)
    where v_stale is null or t.place <> all (v_stale);
  if v_taken is null then return; end if;

  update {schema}.webhook_endpoint e set revision = e.revision + 1, status = p_statuses[t.place],
      held_until = nullif(p_held_until[t.place], '')::bigint, record = p_records[t.place],
      held_left = case when p_statuses[t.place] = 'disabled' and e.status = 'disabled' then e.held_left
        else nullif(p_held_left[t.place], '')::bigint end
    from unnest(v_taken) t (place)
    where e.organization = p_organizations[t.place] and e.endpoint = p_endpoints[t.place];
  update {schema}.webhook_delivery w set state = d.state, next_attempt_at = nullif(d.next_attempt, '')::bigint,
      attempts = d.attempts,
      queue = case when d.state <> 'pending' then null when p_statuses[d.place] = 'active' then 'later'
        else 'frozen' end,
      open_token = null, open_at = null, open_expires_at = null, open_generation = null
    from unnest(p_places::bigint[], p_deliveries, p_states, p_next_attempts, p_attempts)
      d (place, delivery, state, next_attempt, attempts)
    where d.place = any (v_taken) and w.organization = p_organizations[d.place] and w.endpoint = p_endpoints[d.place]
      and w.delivery = d.delivery;
  return query select unnest(v_taken);
end
$record$;

create or replace function {schema}.record_webhook_attempts(
  p_organization text, p_endpoint text, p_expected bigint, p_status text, p_event_types text[],
  p_generation bigint, p_held_until bigint, p_held_left bigint, p_record text,
  p_deliveries text[], p_tokens text[], p_states text[], p_next_attempts text[], p_attempts text[],
  out o_revision bigint
) language plpgsql as $record$
begin
  select p_expected + 1 into o_revision from {schema}.record_webhook_ends(
    array[p_organization], array[p_endpoint], array[p_expected::text], array[p_status],
    array[coalesce(p_held_until::text, '')], array[coalesce(p_held_left::text, '')], array[p_record],
    array_fill('1'::text, array[cardinality(p_deliveries)]), p_deliveries, p_tokens, p_states, p_next_attempts,
    p_attempts);
end
$record$;
`
