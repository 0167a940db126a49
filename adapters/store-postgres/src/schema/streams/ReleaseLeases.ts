/** Releases leases that a worker still holds. One that another session has locked is left to expire. */
export const releaseLeases = `
create or replace function {schema}.release_leases(p_kind text, p_token text, p_organizations text[], p_names text[])
returns void language plpgsql set enable_seqscan = off as $release$
begin
  delete from {schema}.lease l where (l.organization, l.kind, l.name) in (
    select own.organization, own.kind, own.name
    from unnest(p_organizations, p_names) given (organization, name)
    join {schema}.lease own on own.organization = given.organization and own.kind = p_kind and own.name = given.name
    where own.token = p_token for update of own skip locked);
end
$release$;
`
