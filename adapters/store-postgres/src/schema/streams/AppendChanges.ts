/** Reads the clock, and turns away the changes that it is too late for. */
const refuseLate = `  v_clock := {schema}.store_clock();
  if v_clock >= v_record_before then
    for v_at in 1 .. v_count loop
      if o_outcomes[v_at] = 'held' and v_clock >= p_record_before[v_at]::bigint then
        o_outcomes[v_at] := 'out_of_time';
        v_lost := true;
      end if;
    end loop;
  end if;
`

/** A claim, as it stands in `v_won`. No kind has a space, so that the organization's length tells all three apart. */
const claimText = (organization: string, kind: string, name: string): string =>
  `length(${organization}) || ' ' || ${organization} || ' ' || ${kind} || ' ' || ${name}`

const claimName = claimText("p_organizations[v_change]", "p_claim_kinds[v_at]", "p_claim_names[v_at]")

/**
 * Appends many changes to different streams in one statement and one transaction, each entirely or not at all. The outcome
 * of each is `appended`, `stale`, `out_of_time`, or `alone`: it left no trace and must be retried alone (`append_one`), which
 * finds the reason.
 *
 * Changes come in the order of their streams and claims in their own, which is the order in which all statements take
 * locks. A stream that another session has locked is not waited for. No two changes of one call may share a stream or a
 * claim, and none may contain a session, a subject or an expiring claim.
 *
 * Rows are written as sets, but none is looked up by a join: a plan for one, made while the tables were empty, would scan them
 * for as long as it is cached. A lateral row lock and a conflict of keys can only go through the key. Parameters never
 * change such a plan, so that it is made once.
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
) language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $appends$
declare
  v_count integer := cardinality(p_mandates);
  v_record_before bigint := (select min(before::bigint) from unnest(p_record_before) before);
  v_clock bigint;
  v_is_new boolean[];
  v_opens text[]; -- authorizations that are open after each change
  v_won text[];
  v_lost boolean := false;
  v_change integer;
  v_written bigint;
  v_observed text[];
  v_row integer := 1;
  v_first integer[]; -- place of the first row of each change, which stand together in the order of the changes
begin
  for v_at in 1 .. v_count loop
    v_first[v_at] := v_row;
    while p_row_changes[v_row]::integer = v_at loop v_row := v_row + 1; end loop;
    v_first[v_at + 1] := v_row;
    continue when p_expected[v_at] <> '' or p_before_hashes[v_at] <> '';
    insert into {schema}.stream (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state,
        subject, next_due, wake_at, open_authorizations, snapshot)
      values (p_organizations[v_at], p_mandates[v_at], 1, p_seqs[v_at]::bigint, p_hashes[v_at],
        p_occurred_at[v_at]::bigint, p_bytes[v_at]::bigint, p_schema, p_states[v_at],
        p_subjects[v_at], nullif(p_next_due[v_at], '')::bigint, nullif(p_next_due[v_at], '')::bigint,
        array(select r.id from unnest(p_rows[v_first[v_at]:v_row - 1], p_reservations[v_first[v_at]:v_row - 1])
          r (id, reservation) where r.reservation <> ''),
        p_snapshots[v_at])
      on conflict do nothing;
    v_is_new[v_at] := found;
  end loop;
  select
      array_agg(case
        when c.expected = '' then case when v_is_new[c.at] then 'held' else 'alone' end
        when s.revision <> c.expected::bigint then 'stale'
        when s.schema <= p_schema and s.seq = p_before_seqs[c.at]::bigint and s.hash = p_before_hashes[c.at]
          and s.bytes = p_before_bytes[c.at]::bigint and s.occurred_at = p_before_occurred_at[c.at]::bigint then 'held'
        else 'alone' end order by c.at),
      array_agg(s.opens order by c.at)
    into o_outcomes, v_opens
    from unnest(p_expected) with ordinality c (expected, at)
    left join lateral (
      select s.revision, s.schema, s.seq, s.hash, s.bytes, s.occurred_at, case
          when v_first[c.at] = v_first[c.at + 1] then s.open_authorizations
          else array(select o from unnest(s.open_authorizations) o
              where o <> all (p_rows[v_first[c.at]:v_first[c.at + 1] - 1]))
            || array(select r.id from unnest(p_rows[v_first[c.at]:v_first[c.at + 1] - 1],
              p_reservations[v_first[c.at]:v_first[c.at + 1] - 1]) r (id, reservation)
              where r.reservation <> '') end::text opens
        from {schema}.stream s
        where c.expected <> '' and s.organization = p_organizations[c.at] and s.mandate = p_mandates[c.at]
        for update skip locked
    ) s on true;

${refuseLate}
  with won as (
    insert into {schema}.claim (organization, kind, name, fingerprint, resource)
      select p_organizations[c.change::integer], p_claim_kinds[c.at], p_claim_names[c.at], p_claim_fingerprints[c.at],
          p_claim_resources[c.at]
        from unnest(p_claim_changes) with ordinality c (change, at)
        where o_outcomes[c.change::integer] = 'held'
      on conflict do nothing
      returning organization, kind, name
  )
  select array_agg(${claimText("w.organization", "w.kind", "w.name")}) into v_won from won w;
  v_won := coalesce(v_won, '{}');
  if cardinality(v_won) < cardinality(p_claim_names) then
    for v_at in 1 .. cardinality(p_claim_names) loop
      v_change := p_claim_changes[v_at]::integer;
      continue when o_outcomes[v_change] <> 'held'
        or ${claimName} = any (v_won);
      o_outcomes[v_change] := 'alone';
      v_lost := true;
    end loop;
  end if;

  -- Another's claim may have been waited for.
${refuseLate}  if v_lost then
    for v_at in 1 .. cardinality(p_claim_names) loop
      v_change := p_claim_changes[v_at]::integer;
      continue when o_outcomes[v_change] = 'held'
        or ${claimName} <> all (v_won);
      delete from {schema}.claim c where c.organization = p_organizations[v_change]
        and c.kind = p_claim_kinds[v_at] and c.name = p_claim_names[v_at];
    end loop;
    for v_at in 1 .. v_count loop
      continue when v_is_new[v_at] is not true or o_outcomes[v_at] = 'held';
      delete from {schema}.stream s
        where s.organization = p_organizations[v_at] and s.mandate = p_mandates[v_at];
    end loop;
  end if;

  -- Every row exists and is locked.
  insert into {schema}.stream as s (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state,
      subject, next_due, open_authorizations, snapshot)
    select p_organizations[c.at], p_mandates[c.at], c.expected::bigint + 1, p_seqs[c.at]::bigint, p_hashes[c.at],
        p_occurred_at[c.at]::bigint, p_bytes[c.at]::bigint, p_schema, p_states[c.at],
        p_subjects[c.at], nullif(p_next_due[c.at], '')::bigint, v_opens[c.at]::text[], p_snapshots[c.at]
      from unnest(p_expected) with ordinality c (expected, at)
      where c.expected <> '' and o_outcomes[c.at] = 'held'
    on conflict (organization, mandate) do update
      set revision = excluded.revision, seq = excluded.seq, hash = excluded.hash,
        occurred_at = excluded.occurred_at, bytes = excluded.bytes, schema = excluded.schema,
        state = excluded.state, next_due = excluded.next_due, snapshot = excluded.snapshot,
        wake_at = case when s.wake_at > excluded.occurred_at and s.wake_at <= excluded.next_due then s.wake_at
          else excluded.next_due end,
        open_authorizations = excluded.open_authorizations;
  insert into {schema}.event (organization, mandate, seq, schema, id, type, text)
    select p_organizations[e.change::integer], p_mandates[e.change::integer],
        p_before_seqs[e.change::integer]::bigint + e.at - array_position(p_event_changes, e.change) + 1, p_schema,
        p_event_ids[e.at], p_event_types[e.at], p_event_texts[e.at]
      from unnest(p_event_changes) with ordinality e (change, at)
      where o_outcomes[e.change::integer] = 'held';
  insert into {schema}.closed_authorization (organization, mandate, state, ordinal, authorization_id)
    select p_organizations[r.change::integer], p_mandates[r.change::integer], p_row_states[r.at],
        p_ordinals[r.at]::bigint, p_rows[r.at]
      from unnest(p_row_changes) with ordinality r (change, at)
      where o_outcomes[r.change::integer] = 'held' and p_row_states[r.at] <> 'RESERVED'
    on conflict do nothing;
  insert into {schema}.authorization_row as a (organization, authorization_id, mandate, ordinal, state,
      expires_at, reservation, record)
    select p_organizations[r.change::integer], p_rows[r.at], p_mandates[r.change::integer], p_ordinals[r.at]::bigint,
        p_row_states[r.at], nullif(p_expiries[r.at], '')::bigint, nullif(p_reservations[r.at], ''), p_records[r.at]
      from unnest(p_row_changes) with ordinality r (change, at)
      where o_outcomes[r.change::integer] = 'held'
    on conflict (organization, authorization_id) do update
      set state = excluded.state, expires_at = excluded.expires_at, reservation = excluded.reservation,
        record = excluded.record
      where a.mandate = excluded.mandate and a.ordinal = excluded.ordinal;
  get diagnostics v_written = row_count;
  if v_written < cardinality(p_rows)
      and v_written < (select count(*) from unnest(p_row_changes) c where o_outcomes[c::integer] = 'held') then
    raise sqlstate 'SV000';
  end if;

  v_observed := array(select o.organization from (select distinct organization from unnest(p_organizations) organization) o
    where (select true from {schema}.webhook_endpoint e
      where e.organization = o.organization and e.slot is not null limit 1));
  if cardinality(v_observed) > 0 then
    for v_at in 1 .. cardinality(p_event_texts) loop
      v_change := p_event_changes[v_at]::integer;
      continue when o_outcomes[v_change] <> 'held' or p_organizations[v_change] <> all (v_observed);
      perform {schema}.fan_out(p_organizations[v_change], p_event_ids[v_at], p_event_types[v_at],
        p_event_notifications[v_at], p_delivery_stems[v_at]);
    end loop;
  end if;

  o_outcomes := array_replace(o_outcomes, 'held', 'appended');
exception
  -- One of them cannot follow what is recorded, and nobody knows which one yet.
  when sqlstate 'SV000' or unique_violation or cardinality_violation then
    o_outcomes := array_fill('alone'::text, array[v_count]);
end
$appends$;
`
