/**
 * Appends one change to one stream in one statement, entirely or not at all.
 *
 * The outcome is `appended`, `stale`, `out_of_time`, `claim_taken` (with the holder), `newer` (a later release wrote
 * the stream) or `broken` (the change cannot follow what is recorded); all but the first leave no trace.
 *
 * Every caller takes locks in the same order: the stream, the subject, claims by kind and name, webhook endpoints by
 * their key. The clock is read under them. Claims come in lock order, and `p_claim_places` says where each stood in the
 * change, so that the first of several taken ones is reported.
 *
 * One statement locks the stream and advances it if the change can follow. Otherwise the stream is read without a lock to
 * find the reason. `wake_at` changes only to an earlier instant or after it has come, which keeps the update heap-only. An
 * authorization that is closed most likely exists, so it is updated first; one that is open or was refused is most likely
 * new, so it is inserted first.
 */
export const appendOne = `
create or replace function {schema}.append_one(
  p_organization text, p_mandate text, p_expected bigint, p_record_before bigint, p_broken text,
  p_before_seq bigint, p_before_hash text, p_before_bytes bigint, p_before_occurred_at bigint,
  p_seq bigint, p_hash text, p_occurred_at bigint, p_bytes bigint,
  p_schema integer, p_state text, p_subject text, p_next_due bigint, p_snapshot text,
  p_event_ids text[], p_event_types text[], p_event_texts text[], p_event_notifications text[],
  p_delivery_stems text[],
  p_ids text[], p_ordinals bigint[], p_states text[], p_expiries text[], p_reservations text[], p_records text[],
  p_sessions text[], p_token_hashes text[], p_session_records text[],
  p_subject_expected text, p_subject_record text,
  p_claim_kinds text[], p_claim_names text[], p_claim_fingerprints text[], p_claim_resources text[],
  p_claim_expiries text[], p_claim_places text[],
  out o_outcome text, out o_revision bigint, out o_detail text, out o_fingerprint text, out o_resource text
) language plpgsql set enable_seqscan = off as $one$
declare
  v_follows boolean := true;
  v_revision bigint;
  v_schema integer;
  v_subject_revision bigint;
  v_clock bigint;
  v_lost integer;
  v_is_own boolean;
  v_has_endpoints boolean;
  v_opened text[] := '{}';
begin
  for v_at in 1 .. cardinality(p_ids) loop
    if p_reservations[v_at] <> '' then v_opened := v_opened || p_ids[v_at]; end if;
  end loop;
  if p_expected is null then
    o_revision := 1;
    insert into {schema}.stream (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state,
        subject, next_due, wake_at, open_authorizations, snapshot)
      values (p_organization, p_mandate, 1, p_seq, p_hash, p_occurred_at, p_bytes, p_schema, p_state,
        p_subject, p_next_due, p_next_due, v_opened, p_snapshot)
      on conflict do nothing;
    if not found then o_outcome := 'stale'; raise sqlstate 'SV000'; end if;
    v_follows := p_before_hash is null;
  else
    o_revision := p_expected + 1;
    update {schema}.stream s set revision = o_revision, seq = p_seq, hash = p_hash, occurred_at = p_occurred_at,
        bytes = p_bytes, schema = p_schema, state = p_state, next_due = p_next_due, snapshot = p_snapshot,
        wake_at = case when s.wake_at > p_occurred_at and s.wake_at <= p_next_due then s.wake_at else p_next_due end,
        open_authorizations = case when cardinality(p_ids) = 0 then s.open_authorizations
          else array(select o from unnest(s.open_authorizations) o where o <> all (p_ids)) || v_opened end
      where s.organization = p_organization and s.mandate = p_mandate
        and s.revision = p_expected and s.schema <= p_schema and s.seq = p_before_seq and s.hash = p_before_hash
        and s.bytes = p_before_bytes and s.occurred_at = p_before_occurred_at;
    if not found then
      v_follows := false;
      select s.revision, s.schema into v_revision, v_schema
        from {schema}.stream s where s.organization = p_organization and s.mandate = p_mandate;
      if v_revision is distinct from p_expected then o_outcome := 'stale'; raise sqlstate 'SV000'; end if;
      if v_schema > p_schema then o_outcome := 'newer'; raise sqlstate 'SV000'; end if;
    end if;
  end if;

  if p_subject_expected = 'absent' then
    insert into {schema}.subject (organization, subject, revision, record)
      values (p_organization, p_subject, {schema}.next_revision(0), p_subject_record) on conflict do nothing;
    if not found then o_outcome := 'stale'; raise sqlstate 'SV000'; end if;
  elsif p_subject_expected is not null then
    select s.revision into v_subject_revision from {schema}.subject s
      where s.organization = p_organization and s.subject = p_subject for update;
    if v_subject_revision is distinct from p_subject_expected::bigint then
      o_outcome := 'stale'; raise sqlstate 'SV000';
    end if;
  end if;

  v_clock := {schema}.store_clock();
  if v_clock >= p_record_before then o_outcome := 'out_of_time'; raise sqlstate 'SV000'; end if;
  if p_broken is not null then
    o_outcome := 'broken'; o_detail := p_broken; raise sqlstate 'SV000';
  end if;

  for v_at in 1 .. cardinality(p_claim_names) loop
    insert into {schema}.claim (organization, kind, name, fingerprint, resource, expires_at)
      values (p_organization, p_claim_kinds[v_at], p_claim_names[v_at], p_claim_fingerprints[v_at],
        p_claim_resources[v_at], nullif(p_claim_expiries[v_at], '')::bigint)
      on conflict do nothing;
    continue when found;
    update {schema}.claim held set fingerprint = p_claim_fingerprints[v_at], resource = p_claim_resources[v_at],
        expires_at = nullif(p_claim_expiries[v_at], '')::bigint
      where held.organization = p_organization and held.kind = p_claim_kinds[v_at]
        and held.name = p_claim_names[v_at] and held.expires_at <= v_clock;
    if not found and (v_lost is null or p_claim_places[v_at]::integer < p_claim_places[v_lost]::integer) then
      v_lost := v_at;
    end if;
  end loop;
  if v_lost is not null then
    o_outcome := 'claim_taken';
    o_detail := p_claim_kinds[v_lost];
    select c.fingerprint, c.resource into o_fingerprint, o_resource from {schema}.claim c
      where c.organization = p_organization and c.kind = o_detail and c.name = p_claim_names[v_lost];
    raise sqlstate 'SV000';
  end if;
  -- Another's claim may have been waited for.
  if cardinality(p_claim_kinds) > 0 and {schema}.store_clock() >= p_record_before then
    o_outcome := 'out_of_time'; raise sqlstate 'SV000';
  end if;

  o_outcome := 'broken';
  o_detail := 'the events do not follow the head';
  if v_follows is not true then raise sqlstate 'SV000'; end if;

  for v_at in 1 .. cardinality(p_event_texts) loop
    insert into {schema}.event (organization, mandate, seq, schema, id, type, text)
      values (p_organization, p_mandate, p_before_seq + v_at, p_schema, p_event_ids[v_at], p_event_types[v_at],
        p_event_texts[v_at])
      returning exists (
        select from {schema}.webhook_endpoint e where e.organization = p_organization and e.slot is not null
      ) into v_has_endpoints;
    if v_has_endpoints then
      perform {schema}.fan_out(p_organization, p_event_ids[v_at], p_event_types[v_at], p_event_notifications[v_at],
        p_delivery_stems[v_at]);
    end if;
  end loop;
  o_detail := 'an authorization is of another mandate or order';
  for v_at in 1 .. cardinality(p_ids) loop
    v_is_own := null;
    if p_states[v_at] <> 'RESERVED' then
      insert into {schema}.closed_authorization (organization, mandate, state, ordinal, authorization_id)
        values (p_organization, p_mandate, p_states[v_at], p_ordinals[v_at], p_ids[v_at]) on conflict do nothing;
    end if;
    if p_states[v_at] not in ('RESERVED', 'DENIED', 'INDETERMINATE') then
      update {schema}.authorization_row a set state = p_states[v_at],
          expires_at = nullif(p_expiries[v_at], '')::bigint, reservation = nullif(p_reservations[v_at], ''),
          record = p_records[v_at]
        where a.organization = p_organization and a.authorization_id = p_ids[v_at]
        returning a.mandate = p_mandate and a.ordinal = p_ordinals[v_at] into v_is_own;
      continue when v_is_own;
      if not v_is_own then raise sqlstate 'SV000'; end if;
    end if;
    insert into {schema}.authorization_row (organization, authorization_id, mandate, ordinal, state,
        expires_at, reservation, record)
      values (p_organization, p_ids[v_at], p_mandate, p_ordinals[v_at], p_states[v_at],
        nullif(p_expiries[v_at], '')::bigint, nullif(p_reservations[v_at], ''), p_records[v_at])
      on conflict (organization, authorization_id) do nothing;
    continue when found;
    update {schema}.authorization_row a set state = p_states[v_at],
        expires_at = nullif(p_expiries[v_at], '')::bigint, reservation = nullif(p_reservations[v_at], ''),
        record = p_records[v_at]
      where a.organization = p_organization and a.authorization_id = p_ids[v_at]
      returning a.mandate = p_mandate and a.ordinal = p_ordinals[v_at] into v_is_own;
    if v_is_own is not true then raise sqlstate 'SV000'; end if;
  end loop;
  o_detail := 'a session or its token is of another mandate';
  for v_at in 1 .. cardinality(p_sessions) loop
    insert into {schema}.approval_session as s (organization, session, mandate, ordinal, token_hash, record)
      values (p_organization, p_sessions[v_at], p_mandate, o_revision * 1000 + v_at, p_token_hashes[v_at],
        p_session_records[v_at])
      on conflict (organization, session) do update set record = excluded.record
        where s.mandate = excluded.mandate and s.token_hash = excluded.token_hash;
    if not found then raise sqlstate 'SV000'; end if;
    insert into {schema}.approval_token as t (organization, token_hash, session)
      values (p_organization, p_token_hashes[v_at], p_sessions[v_at])
      on conflict (token_hash) do nothing;
    continue when found;
    perform from {schema}.approval_token t where t.organization = p_organization
      and t.token_hash = p_token_hashes[v_at] and t.session = p_sessions[v_at];
    if not found then raise sqlstate 'SV000'; end if;
  end loop;
  if v_subject_revision is not null then
    update {schema}.subject s set revision = {schema}.next_revision(v_subject_revision), record = p_subject_record
      where s.organization = p_organization and s.subject = p_subject;
  end if;
  o_outcome := 'appended';
  o_detail := null;
exception
  when sqlstate 'SV000' then
    null;
  when unique_violation then
    o_outcome := 'broken';
end
$one$;
`
