/**
 * The revision after `p_revision`, of a webhook endpoint or a subject. It counts by one from 1, and after each acknowledged
 * change of the history from the microsecond of the acknowledgement, which no count before it has reached: when a failover
 * lost a change, the one that takes its place does not have its revision, so whoever read the lost one is stale.
 */
export const nextRevision = `
create or replace function {schema}.next_revision(p_revision bigint) returns bigint language sql stable
  as 'select greatest(p_revision + 1, max(h.began_at) filter (where h.ordinal > 1) / 1000) from {schema}.history h';
`
