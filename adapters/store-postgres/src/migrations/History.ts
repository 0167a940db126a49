/**
 * Which histories the store has had: a row for each, the last of them the one that goes on. A promoted standby, a restored
 * backup and a loaded dump hold a history that may lack what was acknowledged, or have other events in its places, and
 * nothing in the tables says so. So each row has the cluster and the timeline that it was recorded on, which change then;
 * an operator says what became of it, and that begins the next row. Null: the server does not tell.
 *
 * `continues`: nothing was lost, and positions in the history before are good in this one too.
 */
export const history = `
create table {schema}.history (
  ordinal integer primary key,
  history text collate "C" not null unique,
  began_at bigint not null,
  cluster text,
  timeline text,
  continues boolean not null
);

create function {schema}.database_identity(out o_cluster text, out o_timeline text) language plpgsql as $identity$
begin
  -- A replica is on whatever timeline it follows, and takes no writes.
  if pg_is_in_recovery() then return; end if;
  -- Servers that speak Postgres without its log of writes, or keep these functions to themselves, tell one or neither.
  begin
    select c.system_identifier::text into o_cluster from pg_control_system() c;
  exception when insufficient_privilege or undefined_function or feature_not_supported then
    null;
  end;
  begin
    o_timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  exception when insufficient_privilege or undefined_function or feature_not_supported then
    null;
  end;
end
$identity$;

create function {schema}.history_state(
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

create function {schema}.acknowledge_history(
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
      (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000, v_state.o_cluster, v_state.o_timeline, p_lossless
    from {schema}.history h
    returning history into o_history;
end
$acknowledge$;

insert into {schema}.history (ordinal, history, began_at, cluster, timeline, continues)
  select 1, left(replace(gen_random_uuid()::text, '-', ''), 16),
    (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000, i.o_cluster, i.o_timeline, false
  from {schema}.database_identity() i;
`
