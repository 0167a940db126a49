/**
 * Rows of the endpoints in `v_organizations` and `v_endpoints` and another array beside them: how many attempts each has
 * `open` and may have at `most`, and how many its organization has, of `every` endpoint. What an organization has is counted
 * once.
 */
const openOf = (beside: string): string => `(
      select g.organization, n.endpoint, n.since, bound.most, own.open, every.open as every from (
          select c.organization, array_agg(c.endpoint) as endpoints, array_agg(c.since) as since
            from unnest(v_organizations, v_endpoints, ${beside}) c (organization, endpoint, since) group by c.organization
        ) g
        cross join lateral (
          select count(*) as open from {schema}.webhook_delivery o
            where o.organization = g.organization and o.open_token is not null
        ) every
        cross join lateral unnest(g.endpoints, g.since) n (endpoint, since)
        cross join lateral (
          select coalesce(p_bounds[array_position(p_bounded, n.endpoint)]::bigint, p_per_endpoint) as most
        ) bound
        cross join lateral (
          select count(*) as open from {schema}.webhook_delivery o
            where o.organization = g.organization and o.endpoint = n.endpoint and o.open_token is not null
        ) own
    )`

/**
 * Leases deliveries that are due: opens an attempt of each for the worker `p_token` and for `p_nanos`, at a cost in
 * proportion to what is due. The selected deliveries are due as by `isDue` of the domain, and are opened as by
 * `beginAttempt`.
 *
 * No endpoint ever has more than `p_per_endpoint` attempts open, or what `p_bounds` gives for one of `p_bounded`, however many workers ask at once: a worker that opens
 * attempts of an endpoint locks its row of `webhook_attempt_lock`, and the others skip to other endpoints. An organization,
 * its deleted endpoints included, has at most about `p_per_organization` attempts open, beyond which each endpoint still
 * gets `p_assured`. Endpoints with the fewest open attempts come first, so that one that does not respond holds up no other.
 *
 * Only endpoints with something in the queue `due` are read, however many deliveries wait for a retry: those whose time has
 * come are moved there first. Plans are made once for each connection, because planning for each call costs more than it
 * saves.
 */
export const leaseWebhookAttempts = `
create or replace function {schema}.lease_webhook_attempts(
  p_token text, p_limit bigint, p_per_endpoint bigint, p_assured bigint, p_per_organization bigint, p_nanos bigint,
  p_bounded text[], p_bounds text[]
) returns table (
  o_organization text, o_endpoint text, o_revision bigint, o_missed_since bigint, o_endpoint_record text,
  o_delivery text, o_event text, o_event_type text, o_created_at bigint, o_state text, o_next_attempt_at bigint,
  o_open_token text, o_open_at bigint, o_open_expires_at bigint, o_open_generation bigint, o_attempts text, o_body text
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan as $lease$
declare
  v_clock bigint := {schema}.store_clock();
  v_organizations text[];
  v_endpoints text[];
  v_since bigint[];
  v_open bigint[];
  v_every bigint[];
  v_most bigint[];
  v_deepest bigint;
  v_picked_organizations text[];
  v_picked_endpoints text[];
  v_picked text[];
  v_has_more boolean;
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
    select w.organization, w.endpoint from ${openOf("v_since")} w
      where w.open < w.most and (w.open < p_assured or w.every < p_per_organization)
      order by w.open, w.since, w.endpoint limit p_limit
  ) l;
  -- What is open at these endpoints is counted again below, by a statement that sees what the holder before has opened.
  select array_agg(l.organization), array_agg(l.endpoint) into v_organizations, v_endpoints from (
    select k.organization, k.endpoint from unnest(v_organizations, v_endpoints) w (organization, endpoint)
      join {schema}.webhook_attempt_lock k on k.organization = w.organization and k.endpoint = w.endpoint
      for update of k skip locked
  ) l;
  select array_agg(w.organization), array_agg(w.endpoint), array_agg(w.open), array_agg(w.every), array_agg(w.most),
      ceil((p_limit + sum(w.open)) / count(*))
    into v_organizations, v_endpoints, v_open, v_every, v_most, v_deepest
    from ${openOf("v_endpoints")} w where w.open < w.most;
  while v_endpoints is not null loop
    with waiting as materialized (
      select w.organization, w.endpoint, t.delivery, t.next_attempt_at, w.open + t.place as turn,
        w.every + row_number() over (
          partition by w.organization order by w.open + t.place, t.next_attempt_at, w.endpoint) as of_organization,
        w.open + t.place = v_deepest and v_deepest < w.most as has_more
      from unnest(v_organizations, v_endpoints, v_open, v_every, v_most) w (organization, endpoint, open, every, most)
        cross join lateral (
          select d.delivery, d.next_attempt_at, row_number() over (order by d.next_attempt_at, d.delivery) as place
          from {schema}.webhook_delivery d
          where d.organization = w.organization and d.endpoint = w.endpoint and d.queue = 'due'
            and d.next_attempt_at <= v_clock
          order by d.next_attempt_at, d.delivery limit greatest(0, least(p_limit, w.most - w.open, v_deepest - w.open))
        ) t
    )
    select array_agg(r.organization), array_agg(r.endpoint), array_agg(r.delivery),
        (select bool_or(w.has_more) from waiting w)
      into v_picked_organizations, v_picked_endpoints, v_picked, v_has_more
      from (
        select w.organization, w.endpoint, w.delivery from waiting w
          where w.of_organization <= p_per_organization or w.turn <= p_assured
          order by w.turn, w.next_attempt_at, w.endpoint limit p_limit
      ) r;
    exit when v_has_more is not true or cardinality(v_picked) = p_limit;
    v_deepest := null;
  end loop;
  if v_picked is not null then
    return query with opened as (
      update {schema}.webhook_delivery d
        set queue = null, open_token = p_token, open_at = v_clock, open_expires_at = v_clock + p_nanos,
          open_generation = e.generation
        from unnest(v_picked_organizations, v_picked_endpoints, v_picked) with ordinality
            p (organization, endpoint, delivery, place)
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
    select e.organization, e.endpoint, e.status
      from unnest(v_idle_organizations, v_idle_endpoints) i (organization, endpoint)
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
$lease$;
`
