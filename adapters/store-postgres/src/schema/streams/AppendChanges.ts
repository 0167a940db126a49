/**
 * Appends many changes to different streams in one statement and one transaction, each entirely or not at all. The outcome
 * of each is `appended`, `stale`, `out_of_time`, or `alone`: it left no trace and must be retried alone (`append_one`), which
 * finds the reason.
 *
 * Changes come in the order of their streams and claims in their own, which is the order in which all statements take
 * locks. A stream that another session has locked is not waited for. No two changes of one call may share a stream or a
 * claim, and none may contain a session, a subject or an expiring claim. Statements run row by row: a plan for a set, made
 * while the tables were empty, would scan them for as long as it is cached.
 */
export const appendChanges = `
create or replace function {schema}.append_changes(
  p_schema integer,
  p_organizations text[], p_mandates text[], p_expected text[], p_record_before text[],
  p_before_seqs text[], p_before_hashes text[], p_before_bytes text[], p_before_occurred_at text[],
  p_seqs text[], p_hashes text[], p_occurred_at text[], p_bytes text[],
  p_states text[], p_subjects text[], p_next_due text[], p_snapshots text[],
  p_event_changes text[], p_event_ids text[], p_event_types text[], p_event_texts text[],
  p_event_notifications text[], p_delivery_stems text[],
  p_row_changes text[], p_rows text[], p_ordinals text[], p_row_states text[], p_expiries text[],
  p_reservations text[], p_records text[],
  p_claim_changes text[], p_claim_kinds text[], p_claim_names text[], p_claim_fingerprints text[],
  p_claim_resources text[],
  out o_outcomes text[]
) language plpgsql set enable_seqscan = off as $appends$
declare
  v_count integer := cardinality(p_mandates);
  v_stream record;
  v_clock bigint;
  v_new boolean[];
  v_won boolean[];
  v_lost boolean := false;
  v_change integer;
  v_seq bigint[];
  v_has_endpoints boolean;
  v_row integer := 1;
  v_first integer[]; -- place of the first row of each change, which stand together in the order of the changes
begin
  o_outcomes := array_fill('alone'::text, array[v_count]);
  v_seq := array_fill(0::bigint, array[v_count]);

  for v_at in 1 .. v_count loop
    v_first[v_at] := v_row;
    while p_row_changes[v_row]::integer = v_at loop v_row := v_row + 1; end loop;
    v_first[v_at + 1] := v_row;
    if p_expected[v_at] = '' then
      continue when p_before_hashes[v_at] <> '';
      insert into {schema}.stream (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state,
          subject, next_due, wake_at, open_authorizations, snapshot)
        values (p_organizations[v_at], p_mandates[v_at], 1, p_seqs[v_at]::bigint, p_hashes[v_at],
          p_occurred_at[v_at]::bigint, p_bytes[v_at]::bigint, p_schema, p_states[v_at],
          p_subjects[v_at], nullif(p_next_due[v_at], '')::bigint, nullif(p_next_due[v_at], '')::bigint,
          array(select r.id from unnest(p_rows[v_first[v_at]:v_first[v_at + 1] - 1],
            p_reservations[v_first[v_at]:v_first[v_at + 1] - 1]) r (id, reservation) where r.reservation <> ''),
          p_snapshots[v_at])
        on conflict do nothing;
      if found then o_outcomes[v_at] := 'held'; end if;
      v_new[v_at] := found;
      continue;
    end if;
    select s.revision, s.seq, s.hash, s.bytes, s.occurred_at, s.schema into v_stream
      from {schema}.stream s where s.organization = p_organizations[v_at] and s.mandate = p_mandates[v_at]
      for update skip locked;
    continue when not found;
    if v_stream.revision <> p_expected[v_at]::bigint then
      o_outcomes[v_at] := 'stale';
    elsif v_stream.schema <= p_schema and v_stream.seq = p_before_seqs[v_at]::bigint
        and v_stream.hash = p_before_hashes[v_at] and v_stream.bytes = p_before_bytes[v_at]::bigint
        and v_stream.occurred_at = p_before_occurred_at[v_at]::bigint then
      o_outcomes[v_at] := 'held';
      v_seq[v_at] := v_stream.seq;
    end if;
  end loop;

  v_clock := {schema}.store_clock();
  for v_at in 1 .. v_count loop
    if o_outcomes[v_at] = 'held' and v_clock >= p_record_before[v_at]::bigint then
      o_outcomes[v_at] := 'out_of_time';
      v_lost := true;
    end if;
  end loop;

  for v_at in 1 .. cardinality(p_claim_names) loop
    v_change := p_claim_changes[v_at]::integer;
    continue when o_outcomes[v_change] <> 'held';
    insert into {schema}.claim (organization, kind, name, fingerprint, resource)
      values (p_organizations[v_change], p_claim_kinds[v_at], p_claim_names[v_at], p_claim_fingerprints[v_at],
        p_claim_resources[v_at])
      on conflict do nothing;
    v_won[v_at] := found;
    if not found then
      o_outcomes[v_change] := 'alone';
      v_lost := true;
    end if;
  end loop;

  -- Another's claim may have been waited for.
  v_clock := {schema}.store_clock();
  for v_at in 1 .. v_count loop
    if o_outcomes[v_at] = 'held' and v_clock >= p_record_before[v_at]::bigint then
      o_outcomes[v_at] := 'out_of_time';
      v_lost := true;
    end if;
    if o_outcomes[v_at] = 'held' and p_expected[v_at] <> '' then
      update {schema}.stream s set revision = s.revision + 1, seq = p_seqs[v_at]::bigint, hash = p_hashes[v_at],
          occurred_at = p_occurred_at[v_at]::bigint, bytes = p_bytes[v_at]::bigint, schema = p_schema,
          state = p_states[v_at], next_due = nullif(p_next_due[v_at], '')::bigint, snapshot = p_snapshots[v_at],
          wake_at = case when s.wake_at > p_occurred_at[v_at]::bigint
            and s.wake_at <= nullif(p_next_due[v_at], '')::bigint then s.wake_at
            else nullif(p_next_due[v_at], '')::bigint end,
          open_authorizations = case when v_first[v_at] = v_first[v_at + 1] then s.open_authorizations
            else array(select o from unnest(s.open_authorizations) o
                where o <> all (p_rows[v_first[v_at]:v_first[v_at + 1] - 1]))
              || array(select r.id from unnest(p_rows[v_first[v_at]:v_first[v_at + 1] - 1],
                p_reservations[v_first[v_at]:v_first[v_at + 1] - 1]) r (id, reservation)
                where r.reservation <> '') end
        where s.organization = p_organizations[v_at] and s.mandate = p_mandates[v_at];
    end if;
  end loop;
  if v_lost then
    for v_at in 1 .. cardinality(p_claim_names) loop
      v_change := p_claim_changes[v_at]::integer;
      continue when v_won[v_at] is not true or o_outcomes[v_change] = 'held';
      delete from {schema}.claim c where c.organization = p_organizations[v_change]
        and c.kind = p_claim_kinds[v_at] and c.name = p_claim_names[v_at];
    end loop;
    for v_at in 1 .. v_count loop
      continue when v_new[v_at] is not true or o_outcomes[v_at] = 'held';
      delete from {schema}.stream s
        where s.organization = p_organizations[v_at] and s.mandate = p_mandates[v_at];
    end loop;
  end if;

  for v_at in 1 .. cardinality(p_event_texts) loop
    v_change := p_event_changes[v_at]::integer;
    continue when o_outcomes[v_change] <> 'held';
    v_seq[v_change] := v_seq[v_change] + 1;
    insert into {schema}.event (organization, mandate, seq, schema, id, type, text)
      values (p_organizations[v_change], p_mandates[v_change], v_seq[v_change], p_schema, p_event_ids[v_at],
        p_event_types[v_at], p_event_texts[v_at])
      returning exists (
        select from {schema}.webhook_endpoint e where e.organization = p_organizations[v_change] and e.slot is not null
      ) into v_has_endpoints;
    if v_has_endpoints then
      perform {schema}.fan_out(p_organizations[v_change], p_event_ids[v_at], p_event_types[v_at],
        p_event_notifications[v_at], p_delivery_stems[v_at]);
    end if;
  end loop;
  for v_at in 1 .. cardinality(p_rows) loop
    v_change := p_row_changes[v_at]::integer;
    continue when o_outcomes[v_change] <> 'held';
    if p_row_states[v_at] <> 'RESERVED' then
      insert into {schema}.closed_authorization (organization, mandate, state, ordinal, authorization_id)
        values (p_organizations[v_change], p_mandates[v_change], p_row_states[v_at], p_ordinals[v_at]::bigint,
          p_rows[v_at])
        on conflict do nothing;
    end if;
    insert into {schema}.authorization_row as a (organization, authorization_id, mandate, ordinal, state,
        expires_at, reservation, record)
      values (p_organizations[v_change], p_rows[v_at], p_mandates[v_change], p_ordinals[v_at]::bigint,
        p_row_states[v_at], nullif(p_expiries[v_at], '')::bigint, nullif(p_reservations[v_at], ''),
        p_records[v_at])
      on conflict (organization, authorization_id) do update
        set state = excluded.state, expires_at = excluded.expires_at, reservation = excluded.reservation,
          record = excluded.record
        where a.mandate = excluded.mandate and a.ordinal = excluded.ordinal;
    if not found then raise sqlstate 'SV000'; end if;
  end loop;

  o_outcomes := array_replace(o_outcomes, 'held', 'appended');
exception
  -- One of them cannot follow what is recorded, and nobody knows which one yet.
  when sqlstate 'SV000' or unique_violation then
    o_outcomes := array_fill('alone'::text, array[v_count]);
end
$appends$;
`
