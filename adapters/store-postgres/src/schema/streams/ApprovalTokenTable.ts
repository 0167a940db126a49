/**
 * Which organization and approval session a token is of, by the token's hash: an end user's link names no organization. Small
 * enough for every node of a sharded database to hold all of it.
 */
export const approvalTokenTable = `
create table {schema}.approval_token (
  token_hash text collate "C" primary key,
  organization text collate "C" not null,
  session text collate "C" not null
);
`
