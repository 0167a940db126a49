/**
 * Leases streams with something due to the worker `p_token` for `p_nanos`, earliest first.
 *
 * Streams that are being written to are skipped: their append records what is due. No deadlock is possible, because leasing
 * locks streams first, and deleting leases skips those that are locked. The lease of a stream is looked up by its key,
 * stream by stream: a join would be planned while the tables are nearly empty.
 *
 * Streams whose `wake_at` has come though nothing is due, as when an authorization closed before it expired, are set to
 * wake when something is.
 */
export const leaseDue = `
create or replace function {schema}.lease_due(p_token text, p_limit bigint, p_nanos bigint)
returns table (o_organization text, o_mandate text)
language plpgsql set enable_seqscan = off as $lease$
declare
  v_clock bigint := {schema}.store_clock();
begin
  update {schema}.stream s set wake_at = s.next_due
    from (
      select w.organization, w.mandate from {schema}.stream w
        where w.wake_at <= v_clock and (w.next_due > v_clock) is not false
        order by w.wake_at limit 4 * p_limit for update skip locked
    ) early
    where s.organization = early.organization and s.mandate = early.mandate;
  return query
  with due as materialized (
    select s.organization, s.mandate, s.next_due from {schema}.stream s
    where s.wake_at <= v_clock and s.next_due <= v_clock and coalesce((
      select held.expires_at from {schema}.lease held where held.organization = s.organization
        and held.kind = 'due_stream' and held.name = s.mandate), v_clock) <= v_clock
    order by s.wake_at, s.mandate limit p_limit
    for update of s skip locked
  ), taken as (
    insert into {schema}.lease as held (organization, kind, name, token, expires_at)
    select d.organization, 'due_stream', d.mandate, p_token, v_clock + p_nanos from due d
    on conflict (organization, kind, name) do update
      set token = excluded.token, expires_at = excluded.expires_at where held.expires_at <= v_clock
    returning held.organization, held.name
  )
  select d.organization, d.mandate from due d
    join taken t on t.organization = d.organization and t.name = d.mandate
    order by d.next_due, d.mandate;
  if not found then
    -- Nothing to do, so there is time to remove what dead workers left behind.
    delete from {schema}.lease l where (l.organization, l.kind, l.name) in (
      select gone.organization, gone.kind, gone.name from {schema}.lease gone
      where gone.kind = 'due_stream' and gone.expires_at <= v_clock limit p_limit for update skip locked);
  end if;
end
$lease$;
`
