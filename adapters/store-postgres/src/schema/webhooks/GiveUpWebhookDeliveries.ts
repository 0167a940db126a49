/**
 * Gives up deliveries of an endpoint that wait, the oldest first (the port `WaitingDeliveries`), and returns how many. The
 * endpoint is held meanwhile, as by everyone who ends deliveries; its record and counters stay as they are.
 */
export const giveUpWebhookDeliveries = `
create or replace function {schema}.give_up_webhook_deliveries(
  p_organization text, p_endpoint text, p_limit bigint
) returns bigint language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $give$
declare
  v_clock bigint := {schema}.store_clock();
  v_names text[];
begin
  perform from {schema}.webhook_endpoint e where e.organization = p_organization and e.endpoint = p_endpoint
    and e.slot is not null for update;
  if not found then return 0; end if;
  select array_agg(old.delivery) into v_names from (
    select d.delivery from {schema}.webhook_delivery d where d.organization = p_organization and d.endpoint = p_endpoint
      and d.queue is not null and d.queue in ('due', 'later', 'frozen') and d.open_token is null
      order by d.delivery limit p_limit for update
  ) old;
  if v_names is null then return 0; end if;
  update {schema}.webhook_delivery d set state = 'exhausted', queue = null, next_attempt_at = null, ended_at = v_clock
    where d.organization = p_organization and d.endpoint = p_endpoint and d.delivery = any (v_names)
      and d.state = 'pending' and d.open_token is null;
  return cardinality(v_names);
end
$give$;
`
