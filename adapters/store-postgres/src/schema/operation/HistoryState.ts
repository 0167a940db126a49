/**
 * The current history, the cluster and timeline that it was recorded on, and those of this server. It is acknowledged
 * while they agree; a value that either side does not report counts as agreeing.
 */
export const historyState = `
create or replace function {schema}.history_state(
  out o_history text, out o_is_acknowledged boolean,
  out o_known_cluster text, out o_known_timeline text, out o_cluster text, out o_timeline text
) language plpgsql set enable_seqscan = off as $state$
begin
  select i.o_cluster, i.o_timeline into o_cluster, o_timeline from {schema}.database_identity() i;
  select h.history, h.cluster, h.timeline into o_history, o_known_cluster, o_known_timeline
    from {schema}.history h order by h.ordinal desc limit 1;
  o_is_acknowledged := coalesce(o_known_cluster = o_cluster, true) and coalesce(o_known_timeline = o_timeline, true);
end
$state$;
`
