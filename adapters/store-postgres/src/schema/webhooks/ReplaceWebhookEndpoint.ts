/**
 * Replaces an endpoint that has the expected revision, and returns the next one; null if it has another. While an endpoint
 * stays disabled, the number of deliveries left to be kept is carried over from the row, as by `keptDeliveriesAfter` of the
 * domain: appends decrement it without a new revision, so only the row has it.
 */
export const replaceWebhookEndpoint = `
create or replace function {schema}.replace_webhook_endpoint(
  p_organization text, p_endpoint text, p_expected bigint, p_status text, p_event_types text[],
  p_generation bigint, p_held_until bigint, p_held_left bigint, p_record text
) returns bigint language plpgsql set enable_seqscan = off as $replace$
declare
  v_before text;
  v_next bigint := {schema}.next_revision(p_expected);
begin
  select e.status into v_before from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint and e.revision = p_expected for update;
  if not found then return null; end if;
  update {schema}.webhook_endpoint e set revision = v_next,
      slot = case when p_status <> 'deleted' then e.slot end, status = p_status, event_types = p_event_types,
      generation = p_generation, held_until = p_held_until, record = p_record,
      held_left = case when p_status = 'disabled' and v_before = 'disabled' then e.held_left else p_held_left end,
      missed_since = case when p_status <> 'active' then e.missed_since end
    where e.organization = p_organization and e.endpoint = p_endpoint;
  if p_status = 'active' and v_before <> 'active' then
    update {schema}.webhook_delivery d set queue = 'due'
      where d.organization = p_organization and d.endpoint = p_endpoint and d.queue = 'frozen';
  end if;
  return v_next;
end
$replace$;
`
