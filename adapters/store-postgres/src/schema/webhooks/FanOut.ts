/**
 * Makes the deliveries of an event, one for each endpoint that subscribes to it, from the body and the parts of their
 * identifiers that the domain gave (`deliveryIdOf`). Columns that the domain filled (`wants`, `keptDeliveriesOf`, `isKept`)
 * decide which endpoints subscribe to it and what is kept for disabled ones.
 *
 * Called in the transaction that records the event, after its insert, and only if the organization has an endpoint:
 * most have none, and that check costs less than this call.
 *
 * It sees the endpoints that are committed when it runs. One that is made while an event is being recorded may miss that
 * event, and gets every event whose append began after it was made. Only disabled endpoints are locked, to count what is
 * kept for them and to see whether they are active again.
 */
export const fanOut = `
create or replace function {schema}.fan_out(
  p_organization text, p_event text, p_type text, p_body text, p_delivery_stem text
) returns void language plpgsql set enable_seqscan = off as $fan$
declare
  v_found record;
  v_held record;
  v_clock bigint;
  v_queue text;
begin
  -- A transaction may record several events, which others want: all are locked at the first of them, in one order.
  perform from {schema}.webhook_endpoint e where e.organization = p_organization and e.slot is not null
      and e.status = 'disabled' and e.missed_since is null
    order by e.endpoint for update;
  for v_found in
    select e.endpoint, e.status, e.missed_since, e.delivery_suffix from {schema}.webhook_endpoint e
      where e.organization = p_organization and e.slot is not null
        and e.event_types && array['*', p_type]
      order by e.endpoint
  loop
    v_clock := {schema}.store_clock();
    v_queue := 'due';
    if v_found.status = 'disabled' then
      continue when v_found.missed_since is not null;
      select e.status, e.held_until, e.held_left into v_held from {schema}.webhook_endpoint e
        where e.organization = p_organization and e.endpoint = v_found.endpoint for update;
      continue when v_held.status = 'deleted';
      if v_held.status = 'disabled' then
        if v_held.held_left <= 0 or v_clock >= v_held.held_until then
          update {schema}.webhook_endpoint e set missed_since = v_clock
            where e.organization = p_organization and e.endpoint = v_found.endpoint and e.missed_since is null;
          continue;
        end if;
        update {schema}.webhook_endpoint e set held_left = e.held_left - 1
          where e.organization = p_organization and e.endpoint = v_found.endpoint;
        v_queue := 'frozen';
      end if;
    end if;
    insert into {schema}.webhook_delivery (organization, endpoint, delivery, event, event_type, created_at, state,
        queue, next_attempt_at, body)
      values (p_organization, v_found.endpoint, p_delivery_stem || v_found.delivery_suffix, p_event, p_type, v_clock,
        'pending', v_queue, v_clock, p_body);
  end loop;
end
$fan$;
`
