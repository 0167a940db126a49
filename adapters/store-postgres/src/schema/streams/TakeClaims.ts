/**
 * Takes claims in the given order, which is their lock order; `p_places` gives the place of each in the change. The result is
 * all null if every claim was taken, otherwise the first that was taken before, with its holder. The caller then undoes
 * those that were taken here.
 */
export const takeClaims = `
create or replace function {schema}.take_claims(
  p_organization text, p_kinds text[], p_names text[], p_fingerprints text[], p_resources text[],
  p_expiries text[], p_places text[],
  out o_kind text, out o_fingerprint text, out o_resource text
) language plpgsql set enable_seqscan = off as $claims$
declare
  v_clock bigint := {schema}.store_clock();
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
`
