/**
 * An idempotency key is the organization's, whichever operation it served: claims are named by the key alone, where the
 * operation used to stand before it. Of a key that several operations had used, the first one's binding stays.
 */
export const keysOfOrganizations = `
insert into {schema}.claim (organization, kind, name, fingerprint, resource, expires_at)
  select distinct on (c.organization, split_part(c.name, ' ', 3))
    c.organization, c.kind, split_part(c.name, ' ', 3), c.fingerprint, c.resource, c.expires_at
  from {schema}.claim c
  where c.kind = 'idempotency_key' and c.name like '% % %'
  order by c.organization, split_part(c.name, ' ', 3), substr(c.resource, 5), c.name
  on conflict do nothing;

delete from {schema}.claim c where c.kind = 'idempotency_key' and c.name like '% % %';
`
