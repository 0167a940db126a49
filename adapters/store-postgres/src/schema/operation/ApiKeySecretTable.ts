/**
 * Which organization an API key is of, by the hash of its secret: a caller names no organization. Small enough for every node
 * of a sharded database to hold all of it; everything else about the key is keyed by its organization.
 */
export const apiKeySecretTable = `
create table {schema}.api_key_secret (
  hash text collate "C" primary key,
  organization text collate "C" not null,
  api_key text collate "C" not null
);
`
