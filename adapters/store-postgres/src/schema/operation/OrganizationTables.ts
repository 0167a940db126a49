/** Organizations and their API keys. A key is found by the hash of its secret, which names the organization. */
export const organizationTables = `
create table {schema}.organization (
  organization text collate "C" primary key,
  record text not null
);

create table {schema}.api_key (
  organization text collate "C" not null,
  api_key text collate "C" not null,
  hash text collate "C" not null,
  last_used_at bigint, -- coarsely, and beside the record, which is replaced as a whole
  record text not null,
  primary key (organization, api_key)
);
create unique index api_key_hash on {schema}.api_key (hash);
`
