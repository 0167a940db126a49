/**
 * Makes or replaces an endpoint. The outcome is `recorded`, `stale`, `claim_taken` (with the holder) or `limit`; all
 * but the first leave no trace. `p_spread_now` and `p_spread_over` move next attempts as `afterReactivation` of the
 * domain does, in one statement, since there may be thousands.
 */
export const changeWebhookEndpoint = `
create or replace function {schema}.change_webhook_endpoint(
  p_organization text, p_endpoint text, p_delivery_suffix text, p_expected bigint, p_status text, p_event_types text[],
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
      v_revision := {schema}.next_revision(0);
      for v_slot in 1 .. p_limit loop
        insert into {schema}.webhook_endpoint (organization, endpoint, delivery_suffix, revision, slot, status, event_types,
            generation, held_until, held_left, record)
          values (p_organization, p_endpoint, p_delivery_suffix, v_revision, v_slot, p_status, p_event_types, p_generation,
            p_held_until, p_held_left, p_record)
          on conflict do nothing;
        if found then o_revision := v_revision; exit; end if;
      end loop;
      if o_revision is not null then
        insert into {schema}.webhook_attempt_lock (organization, endpoint) values (p_organization, p_endpoint);
      end if;
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
`
