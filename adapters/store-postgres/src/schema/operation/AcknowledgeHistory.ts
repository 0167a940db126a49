/**
 * Begins another history on this server on an operator's order. The outcome is `begun`, `unchanged` (the current history is
 * acknowledged, and no backup was restored) or `positions_ahead` (events carry transaction numbers that this server has
 * not reached).
 */
export const acknowledgeHistory = `
create or replace function {schema}.acknowledge_history(
  p_lossless boolean, p_restored boolean, out o_outcome text, out o_history text
) language plpgsql set enable_seqscan = off as $acknowledge$
declare
  v_state record;
begin
  lock table {schema}.history in share row exclusive mode;
  select * into v_state from {schema}.history_state();
  o_history := v_state.o_history;
  if v_state.o_is_acknowledged and not p_restored then
    o_outcome := 'unchanged';
    return;
  end if;
  -- Numbers of transactions that this server has not come to: until it has, the feed would show nothing new.
  if exists (
    select from {schema}.organization o cross join lateral (
      select e.position from {schema}.event e where e.organization = o.organization
      order by e.position desc, e.mandate desc, e.seq desc limit 1
    ) last where last.position >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
  ) then
    o_outcome := 'positions_ahead';
    return;
  end if;
  o_outcome := 'begun';
  insert into {schema}.history (ordinal, history, began_at, cluster, timeline, continues)
    select max(h.ordinal) + 1, left(replace(gen_random_uuid()::text, '-', ''), 16),
      {schema}.store_clock(), v_state.o_cluster, v_state.o_timeline, p_lossless
    from {schema}.history h
    returning history into o_history;
end
$acknowledge$;
`
