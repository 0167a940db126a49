/** Makes or replaces an API key. A hash that another key has is a unique violation. */
export const putApiKey = `
create or replace function {schema}.put_api_key(
  p_organization text, p_api_key text, p_hash text, p_record text
) returns void language plpgsql set enable_seqscan = off as $put$
declare
  v_before text;
begin
  select k.hash into v_before from {schema}.api_key k
    where k.organization = p_organization and k.api_key = p_api_key for update;
  insert into {schema}.api_key (organization, api_key, hash, record)
    values (p_organization, p_api_key, p_hash, p_record)
    on conflict (organization, api_key) do update set hash = excluded.hash, record = excluded.record;
  if v_before is not distinct from p_hash then return; end if;
  delete from {schema}.api_key_secret f where f.organization = p_organization and f.hash = v_before;
  insert into {schema}.api_key_secret (organization, hash, api_key) values (p_organization, p_hash, p_api_key);
end
$put$;
`
