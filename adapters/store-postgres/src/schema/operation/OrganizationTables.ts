/** Organizations and their API keys. */
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
`
