/**
 * Removes what nobody needs any more (the port `StoreCleaning`) of the next organizations after `p_after`, at most `p_limit`
 * rows: claims that expired, and deliveries that ended, with the idempotency keys that stand for them. `o_next` is the
 * organization to continue after, and null once there are no more.
 *
 * Rows that another session has locked are left to a later call, so nobody is waited for.
 */
export const cleanOrganizations = `
create or replace function {schema}.clean_organizations(
  p_after text, p_organizations bigint, p_limit bigint, p_now bigint, p_deliveries_kept bigint, p_claims_kept bigint,
  out o_removed bigint, out o_next text
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $clean$
declare
  v_clock bigint := least({schema}.store_clock(), p_now);
  v_organization text;
  v_endpoint text;
  v_kinds text[];
  v_names text[];
begin
  o_removed := 0;
  o_next := coalesce(p_after, '');
  for v_at in 1 .. p_organizations loop
    select least((
        select e.organization from {schema}.webhook_endpoint e where e.organization > o_next
          order by e.organization, e.endpoint limit 1
      ), (
        select c.organization from {schema}.claim c where c.organization > o_next and c.expires_at is not null
          order by c.organization, c.expires_at limit 1
      )) into v_organization;
    if v_organization is null then o_next := null; return; end if;

    select array_agg(old.kind), array_agg(old.name) into v_kinds, v_names from (
      select c.kind, c.name from {schema}.claim c
        where c.organization = v_organization and c.expires_at <= v_clock - p_claims_kept
        order by c.expires_at limit p_limit - o_removed for update skip locked
    ) old;
    if v_names is not null then
      delete from {schema}.claim c using unnest(v_kinds, v_names) old (kind, name)
        where c.organization = v_organization and c.kind = old.kind and c.name = old.name;
      o_removed := o_removed + cardinality(v_names);
    end if;

    for v_endpoint in
      select e.endpoint from {schema}.webhook_endpoint e where e.organization = v_organization and e.slot is not null
    loop
      select array_agg(old.delivery) into v_names from (
        select d.delivery from {schema}.webhook_delivery d
          where d.organization = v_organization and d.endpoint = v_endpoint and d.state <> 'pending'
            and d.ended_at <= v_clock - p_deliveries_kept
          order by d.ended_at limit p_limit - o_removed for update skip locked
      ) old;
      continue when v_names is null;
      delete from {schema}.claim c where c.organization = v_organization and c.kind = 'idempotency_key'
        and left(c.resource, 4) = 'dlv_' and c.resource = any (v_names);
      delete from {schema}.webhook_delivery d
        where d.organization = v_organization and d.endpoint = v_endpoint and d.delivery = any (v_names);
      o_removed := o_removed + cardinality(v_names);
    end loop;
    -- There may be more of this organization.
    if o_removed >= p_limit then return; end if;
    o_next := v_organization;
  end loop;
end
$clean$;
`
