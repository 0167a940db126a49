/**
 * What remains of mandates whose rows an operator removed after their evidence was archived: the head of the journal, by which
 * the archived evidence can be told, and the identifiers of its events in the order of `seq`, by which the feed knows a position
 * at one of them. No personal data.
 */
export const removedMandateTable = `
create table {schema}.removed_mandate (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  state text collate "C" not null,
  seq bigint not null,
  hash text not null,
  occurred_at bigint not null,
  event_ids text[] collate "C" not null,
  removed_at bigint not null,
  primary key (organization, mandate)
);
`
