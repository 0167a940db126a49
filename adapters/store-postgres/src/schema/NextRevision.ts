/** Revisions by which an acknowledgement is ahead of the one before it, at least: more than an endpoint has between two. */
const REVISIONS_PER_HISTORY = 1_000_000

/**
 * The revision after `p_revision`, of a webhook endpoint or a subject. It counts by one from 1, and after each acknowledged
 * change of the history from the microsecond of the acknowledgement and a million for each that there was, which no count
 * before it has reached, wherever the clocks of the servers are: when a failover lost a change, the one that takes its place
 * does not have its revision, so whoever read the lost one is stale.
 */
export const nextRevision = `
create or replace function {schema}.next_revision(p_revision bigint) returns bigint language sql stable
  as 'select greatest(p_revision + 1, max(h.began_at) filter (where h.ordinal > 1) / 1000
    + max(h.ordinal) * ${REVISIONS_PER_HISTORY}) from {schema}.history h';
`
