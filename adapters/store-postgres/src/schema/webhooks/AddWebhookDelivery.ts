/**
 * Adds a delivery to an active endpoint. The outcome is `recorded`, `stale` or `claim_taken`; all but the first leave
 * no trace.
 */
export const addWebhookDelivery = `
create or replace function {schema}.add_webhook_delivery(
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
`
