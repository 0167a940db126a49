/** Replaces the endpoints in `v_taken`, and ends those of their attempts that are open under their token. */
const update = `with changed as (
      update {schema}.webhook_endpoint e set revision = {schema}.next_revision(e.revision), status = p_statuses[t.place],
        held_until = nullif(p_held_until[t.place], '')::bigint, record = p_records[t.place],
        held_left = case when p_statuses[t.place] = 'disabled' and e.status = 'disabled' then e.held_left
          else nullif(p_held_left[t.place], '')::bigint end
      from unnest(v_taken) t (place)
      where e.organization = p_organizations[t.place] and e.endpoint = p_endpoints[t.place]
      returning t.place, e.revision
    )
    select array_agg(c.place), array_agg(c.revision) into v_places, v_revisions from changed c;
    update {schema}.webhook_delivery w set state = d.state, next_attempt_at = nullif(d.next_attempt, '')::bigint,
        attempts = d.attempts,
        queue = case when d.state <> 'pending' then null when p_statuses[d.place] = 'active' then 'later'
          else 'frozen' end,
        ended_at = case when d.state <> 'pending' then v_clock end,
        open_token = null, open_at = null, open_expires_at = null, open_generation = null
      from unnest(p_places::bigint[], p_deliveries, p_tokens, p_states, p_next_attempts, p_attempts)
        d (place, delivery, token, state, next_attempt, attempts)
      where d.place = any (v_taken) and w.organization = p_organizations[d.place] and w.endpoint = p_endpoints[d.place]
        and w.delivery = d.delivery
        -- Not by the index of open attempts, which would read all of an endpoint's.
        and w.open_token is not distinct from d.token;`

/**
 * Records the results of attempts of many endpoints in one statement: endpoints, and deliveries for each of which `p_places`
 * gives the place of its endpoint in the list. Returns the places that were recorded, each with all of its deliveries, and the
 * revisions that their endpoints have now. Stale endpoints are left out, and of several endpoints also those that are locked, which are not waited for. Endpoints and
 * deliveries are stored as the domain made them (`finishAttempt`, `loseAttempt`).
 */
export const recordWebhookAttempts = `
create or replace function {schema}.record_webhook_attempts(
  p_organizations text[], p_endpoints text[], p_expected text[], p_statuses text[], p_held_until text[],
  p_held_left text[], p_records text[],
  p_places text[], p_deliveries text[], p_tokens text[], p_states text[], p_next_attempts text[], p_attempts text[]
) returns table (o_place bigint, o_revision bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan as $record$
declare
  v_taken bigint[];
  v_places bigint[];
  v_revisions bigint[];
  v_rows bigint;
  v_clock bigint := {schema}.store_clock();
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
  if v_taken is null then return; end if;
  -- Whoever changes an open attempt holds its endpoint first, so most often all are as they were opened.
  begin
    ${update}
    get diagnostics v_rows = row_count;
    if v_rows < (select count(*) from unnest(p_places::bigint[]) d (place) where d.place = any (v_taken)) then
      raise sqlstate 'SV000';
    end if;
  exception
    when sqlstate 'SV000' then
      select array_agg(t.place) into v_taken from unnest(v_taken) t (place)
        where not exists (
          select from unnest(p_places::bigint[], p_deliveries, p_tokens) d (place, delivery, token)
            where d.place = t.place and not exists (
              select from {schema}.webhook_delivery w where w.organization = p_organizations[d.place]
                and w.endpoint = p_endpoints[d.place] and w.delivery = d.delivery
                and w.open_token is not distinct from d.token));
      if v_taken is null then return; end if;
      ${update}
  end;
  return query select * from unnest(v_places, v_revisions);
end
$record$;
`
