/**
 * Removes the rows of a mandate that has ended, entirely or not at all (the port `EndedMandates`). The outcome is `removed`
 * (again too: then there were no rows), `changed`, `not_ended` or `deliveries_waiting`.
 *
 * The stream is locked first, as by an append. An append that waits for it finds no stream and is stale. Claims stay, so that
 * no key and no commitment comes free; identifiers are random, so none comes back.
 */
export const removeMandate = `
create or replace function {schema}.remove_mandate(
  p_organization text, p_mandate text, p_revision bigint, p_seq bigint, p_hash text, p_ended_before bigint,
  out o_outcome text, out o_events bigint, out o_authorizations bigint, out o_sessions bigint
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $remove$
declare
  v_stream record;
  v_events text[];
begin
  o_outcome := 'removed';
  o_events := 0;
  o_authorizations := 0;
  o_sessions := 0;
  select s.revision, s.seq, s.hash, s.occurred_at, s.state, s.next_due, s.open_authorizations into v_stream
    from {schema}.stream s where s.organization = p_organization and s.mandate = p_mandate for update;
  if not found then
    perform from {schema}.removed_mandate r where r.organization = p_organization and r.mandate = p_mandate
      and r.seq = p_seq and r.hash = p_hash;
    if not found then o_outcome := 'changed'; end if;
    return;
  end if;
  if v_stream.revision <> p_revision or v_stream.seq <> p_seq or v_stream.hash <> p_hash then
    o_outcome := 'changed';
    return;
  end if;
  if v_stream.state not in ('CONSUMED', 'REVOKED', 'REJECTED', 'EXPIRED') or v_stream.next_due is not null
      or cardinality(v_stream.open_authorizations) > 0
      or v_stream.occurred_at >= least(p_ended_before, {schema}.store_clock()) then
    o_outcome := 'not_ended';
    return;
  end if;
  select array_agg(e.id order by e.seq) into v_events from {schema}.event e
    where e.organization = p_organization and e.mandate = p_mandate;
  -- What waits is either queued or attempted just now.
  perform from {schema}.webhook_endpoint e cross join lateral (
      select d.event from {schema}.webhook_delivery d where d.organization = p_organization and d.endpoint = e.endpoint
        and d.queue is not null and d.queue in ('due', 'later', 'frozen')
      union all
      select d.event from {schema}.webhook_delivery d where d.organization = p_organization and d.endpoint = e.endpoint
        and d.open_token is not null
    ) w where e.organization = p_organization and e.slot is not null and w.event = any (v_events);
  if found then
    o_outcome := 'deliveries_waiting';
    return;
  end if;

  insert into {schema}.removed_mandate (organization, mandate, state, seq, hash, occurred_at, event_ids, removed_at)
    values (p_organization, p_mandate, v_stream.state, v_stream.seq, v_stream.hash, v_stream.occurred_at, v_events,
      {schema}.store_clock());
  delete from {schema}.approval_token t using {schema}.approval_session s
    where s.organization = p_organization and s.mandate = p_mandate and s.ordinal is not null
      and t.organization = p_organization and t.token_hash = s.token_hash;
  delete from {schema}.approval_session s
    where s.organization = p_organization and s.mandate = p_mandate and s.ordinal is not null;
  get diagnostics o_sessions = row_count;
  delete from {schema}.closed_authorization c where c.organization = p_organization and c.mandate = p_mandate;
  delete from {schema}.authorization_row a
    where a.organization = p_organization and a.mandate = p_mandate and a.ordinal is not null;
  get diagnostics o_authorizations = row_count;
  delete from {schema}.event e where e.organization = p_organization and e.mandate = p_mandate;
  get diagnostics o_events = row_count;
  delete from {schema}.stream s where s.organization = p_organization and s.mandate = p_mandate;
end
$remove$;
`
