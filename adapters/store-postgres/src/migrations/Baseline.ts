/** The first schema. Its text never changes: databases that exist were made by it. */
export const baseline = `
create table {schema}.organization (
  organization text collate "C" primary key,
  record text not null
);

create table {schema}.api_key (
  organization text collate "C" not null,
  api_key text collate "C" not null,
  hash text collate "C" not null,
  last_used_at bigint, -- coarsely, and beside the record, which is replaced as a whole
  record text not null,
  primary key (organization, api_key)
);
create unique index api_key_hash on {schema}.api_key (hash);

create table {schema}.stream (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  revision bigint not null, -- counts appends, those without events too
  seq bigint not null, -- counts events
  hash text not null, -- of the last event
  occurred_at bigint not null, -- of the last event
  bytes bigint not null, -- of all event texts
  schema integer not null, -- of the latest release that wrote the stream
  state text collate "C" not null,
  subject text collate "C" not null,
  next_due bigint, -- when the next transition is due by time alone
  snapshot text not null,
  primary key (organization, mandate)
);
create index stream_subject on {schema}.stream (organization, subject, mandate);
create index stream_state on {schema}.stream (organization, state, mandate);
create index stream_due on {schema}.stream (organization, next_due, mandate) where next_due is not null;
create index stream_due_of_all on {schema}.stream (next_due, mandate) where next_due is not null;

-- The text is never rewritten. The position orders an organization's events over all its mandates: by the transaction that
-- recorded them, and within one by mandate and seq. A transaction gets its number before it writes, and a reader who stays
-- below the lowest number that is still at work meets nothing later that should have come before. That needs no sequence and
-- no lock, and costs an append one entry of an index.
create table {schema}.event (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  seq bigint not null,
  position bigint not null default pg_current_xact_id()::text::bigint,
  schema integer not null,
  id text collate "C" not null,
  type text collate "C" not null,
  text text not null,
  primary key (organization, mandate, seq)
);
create index event_feed on {schema}.event (organization, position, mandate, seq);

-- expires_at and reservation are set while the authorization is open. The index of those reuses its entries, since at most
-- 256 may be open at a time, whereas the one by state keeps an entry of each reservation that there ever was until the
-- table is vacuumed.
create table {schema}.authorization_row (
  organization text collate "C" not null,
  authorization_id text collate "C" not null,
  mandate text collate "C" not null,
  ordinal bigint not null,
  state text collate "C" not null,
  expires_at bigint,
  reservation text,
  record text not null,
  primary key (organization, authorization_id)
);
create unique index authorization_row_ordinal on {schema}.authorization_row (organization, mandate, ordinal);
create index authorization_row_state on {schema}.authorization_row (organization, mandate, state, ordinal);
create index authorization_row_open on {schema}.authorization_row (organization, mandate, (ordinal % 256))
  where reservation is not null;

-- Names that may be used once: idempotency keys, commitments, identity assertions, challenges. The fingerprint says whether
-- a repetition asks for the same, the resource what came of it. One that has expired may be taken again.
create table {schema}.claim (
  organization text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  fingerprint text not null,
  resource text not null,
  expires_at bigint,
  primary key (organization, kind, name)
);

create table {schema}.approval_session (
  organization text collate "C" not null,
  session text collate "C" not null,
  mandate text collate "C" not null,
  ordinal bigint not null, -- rises from session to session of a mandate
  token_hash text collate "C" not null,
  record text not null,
  primary key (organization, session)
);
create unique index approval_session_token on {schema}.approval_session (token_hash);
create index approval_session_ordinal on {schema}.approval_session (organization, mandate, ordinal);

create table {schema}.subject (
  organization text collate "C" not null,
  subject text collate "C" not null,
  revision bigint not null, -- compared by whoever replaces the record
  record text not null,
  primary key (organization, subject)
);

create table {schema}.lease (
  organization text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  token text collate "C" not null,
  expires_at bigint not null,
  primary key (organization, kind, name)
);
create index lease_expiry on {schema}.lease (kind, expires_at);

create table {schema}.webhook_endpoint (
  organization text collate "C" not null,
  endpoint text collate "C" not null,
  delivery_suffix text collate "C" not null, -- end of the identifiers of its deliveries
  revision bigint not null,
  slot bigint, -- from 1, one for each endpoint that is not deleted: of several that come at once each gets another
  status text collate "C" not null,
  event_types text[] not null, -- '*' for all of them
  generation bigint not null, -- counts reactivations
  held_until bigint, -- until when, and how many more, deliveries are kept while it is disabled
  held_left bigint,
  missed_since bigint, -- when the first delivery was not kept since it was disabled
  record text not null,
  primary key (organization, endpoint)
);
create unique index webhook_endpoint_slot on {schema}.webhook_endpoint (organization, slot) where slot is not null;

-- The queue is 'due' while a delivery waits for an attempt, 'later' while it waits for a time to come, 'frozen' when its
-- endpoint was found not to be active, and null while an attempt is open or none will come: what is not due costs nothing
-- when attempts are opened, however much there is. The open columns say who attempts it, and until when nobody else may.
create table {schema}.webhook_delivery (
  organization text collate "C" not null,
  endpoint text collate "C" not null,
  delivery text collate "C" not null,
  event text collate "C" not null,
  event_type text collate "C" not null,
  created_at bigint not null,
  state text collate "C" not null,
  queue text collate "C",
  next_attempt_at bigint,
  open_token text collate "C",
  open_at bigint,
  open_expires_at bigint,
  open_generation bigint,
  attempts text,
  body text not null,
  primary key (organization, endpoint, delivery)
);
create index webhook_delivery_queue on {schema}.webhook_delivery
  (queue, endpoint, organization, next_attempt_at, delivery) where queue is not null;
create index webhook_delivery_later on {schema}.webhook_delivery (next_attempt_at) where queue = 'later';
create index webhook_delivery_open on {schema}.webhook_delivery (organization, endpoint) where open_token is not null;
create index webhook_delivery_expiry on {schema}.webhook_delivery (open_expires_at) where open_token is not null;

-- A row for each endpoint, locked by whoever opens attempts of it, so that their number is exact. The endpoint's own row is
-- left to those who record the ends of attempts meanwhile.
create table {schema}.webhook_attempt_lock (
  organization text collate "C" not null,
  endpoint text collate "C" not null,
  primary key (organization, endpoint)
);

create table {schema}.signing_key (
  organization text collate "C" not null,
  kid text collate "C" not null,
  created_at bigint not null,
  signs_from bigint,
  withdrawn_at bigint,
  public_jwk text not null,
  sealed text,
  primary key (organization, kid)
);
create unique index signing_key_signs_from on {schema}.signing_key (organization, signs_from);

create table {schema}.operator_log (
  organization text collate "C" not null,
  at bigint not null,
  entry text collate "C" not null,
  operator text not null,
  command text not null,
  arguments text not null,
  primary key (organization, at, entry)
);

create table {schema}.history (
  ordinal integer primary key,
  history text collate "C" not null unique,
  began_at bigint not null,
  cluster text, -- null where the server does not tell, as is the timeline
  timeline text,
  continues boolean not null -- nothing was lost, and positions in the history before are good in this one too
);

create or replace function {schema}.store_clock() returns bigint language sql
  as 'select (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000';

create or replace function {schema}.load_stream(
  p_organization text, p_kind text, p_reference text, p_authorization text, p_key text, p_approval boolean,
  out o_clock bigint, out o_organization text, out o_fingerprint text, out o_resource text,
  out o_revision bigint, out o_seq bigint, out o_hash text, out o_occurred_at bigint, out o_bytes bigint,
  out o_snapshot text, out o_open text[], out o_due text[], out o_named text[],
  out o_session text, out o_subject text, out o_subject_revision bigint
) language plpgsql stable set enable_seqscan = off as $load$
declare
  v_mandate text;
  v_session text;
  v_subject text;
  v_now bigint;
  v_named_mandate text;
  v_record text;
begin
  o_clock := {schema}.store_clock();
  o_organization := p_organization;
  if p_kind = 'mandate' then
    v_mandate := p_reference;
  elsif p_kind = 'authorization' then
    select a.mandate into v_mandate from {schema}.authorization_row a
      where a.organization = p_organization and a.authorization_id = p_reference;
  elsif p_kind = 'session' then
    select s.mandate, s.session into v_mandate, v_session from {schema}.approval_session s
      where s.organization = p_organization and s.session = p_reference;
  elsif p_kind = 'token' then
    select s.organization, s.mandate, s.session into o_organization, v_mandate, v_session
      from {schema}.approval_session s where s.token_hash = p_reference;
    if p_organization is not null and o_organization is distinct from p_organization then
      o_organization := p_organization;
      v_mandate := null;
    end if;
  end if;

  if p_key is not null then
    select c.fingerprint, c.resource into o_fingerprint, o_resource from {schema}.claim c
      where c.organization = o_organization and c.kind = 'idempotency_key' and c.name = p_key
        and (c.expires_at is null or c.expires_at > o_clock);
  end if;
  if v_mandate is null then return; end if;

  select s.revision, s.seq, s.hash, s.occurred_at, s.bytes, s.snapshot, s.subject
    into o_revision, o_seq, o_hash, o_occurred_at, o_bytes, o_snapshot, v_subject
    from {schema}.stream s where s.organization = o_organization and s.mandate = v_mandate;
  if not found then return; end if;
  v_now := greatest(o_clock, o_occurred_at);

  select array_agg(o.reservation order by o.ordinal),
      array_agg(o.record order by o.ordinal) filter (where o.expires_at <= v_now)
    into o_open, o_due from (
      select a.reservation, a.record, a.ordinal, a.expires_at from {schema}.authorization_row a
        where a.organization = o_organization and a.mandate = v_mandate and a.reservation is not null
        offset 0
    ) o;
  if p_kind = 'authorization' then
    select array[a.record] into o_named from {schema}.authorization_row a
      where a.organization = o_organization and a.authorization_id = p_reference;
  end if;
  if p_authorization <> p_reference then
    select a.mandate, a.record into v_named_mandate, v_record from {schema}.authorization_row a
      where a.organization = o_organization and a.authorization_id = p_authorization;
    if v_named_mandate = v_mandate then o_named := array_append(o_named, v_record); end if;
  end if;

  if p_approval then
    if v_session is null then
      select s.record into o_session from {schema}.approval_session s
        where s.organization = o_organization and s.mandate = v_mandate order by s.ordinal desc limit 1;
    else
      select s.record into o_session from {schema}.approval_session s
        where s.organization = o_organization and s.session = v_session;
    end if;
    select s.record, s.revision into o_subject, o_subject_revision from {schema}.subject s
      where s.organization = o_organization and s.subject = v_subject;
  end if;
end
$load$;

create or replace function {schema}.take_claims(
  p_organization text, p_kinds text[], p_names text[], p_fingerprints text[], p_resources text[],
  p_expiries text[], p_places text[],
  out o_kind text, out o_fingerprint text, out o_resource text
) language plpgsql set enable_seqscan = off as $claims$
declare
  v_clock bigint := {schema}.store_clock();
  v_lost integer;
begin
  for v_at in 1 .. cardinality(p_names) loop
    insert into {schema}.claim (organization, kind, name, fingerprint, resource, expires_at)
      values (p_organization, p_kinds[v_at], p_names[v_at], p_fingerprints[v_at], p_resources[v_at],
        nullif(p_expiries[v_at], '')::bigint)
      on conflict do nothing;
    continue when found;
    update {schema}.claim held set fingerprint = p_fingerprints[v_at], resource = p_resources[v_at],
        expires_at = nullif(p_expiries[v_at], '')::bigint
      where held.organization = p_organization and held.kind = p_kinds[v_at] and held.name = p_names[v_at]
        and held.expires_at <= v_clock;
    if not found and (v_lost is null or p_places[v_at]::integer < p_places[v_lost]::integer) then
      v_lost := v_at;
    end if;
  end loop;
  if v_lost is null then return; end if;
  o_kind := p_kinds[v_lost];
  select c.fingerprint, c.resource into o_fingerprint, o_resource from {schema}.claim c
    where c.organization = p_organization and c.kind = o_kind and c.name = p_names[v_lost];
end
$claims$;

create or replace function {schema}.fan_out(
  p_organization text, p_event text, p_type text, p_body text, p_delivery_stem text
) returns void language plpgsql set enable_seqscan = off as $fan$
declare
  v_found record;
  v_held record;
  v_clock bigint;
  v_queue text;
begin
  -- A transaction may record several events, which others want: all are locked at the first of them, in one order.
  perform from {schema}.webhook_endpoint e where e.organization = p_organization and e.slot is not null
      and e.status = 'disabled' and e.missed_since is null
    order by e.endpoint for update;
  for v_found in
    select e.endpoint, e.status, e.missed_since, e.delivery_suffix from {schema}.webhook_endpoint e
      where e.organization = p_organization and e.slot is not null
        and e.event_types && array['*', p_type]
      order by e.endpoint
  loop
    v_clock := {schema}.store_clock();
    v_queue := 'due';
    if v_found.status = 'disabled' then
      continue when v_found.missed_since is not null;
      select e.status, e.held_until, e.held_left into v_held from {schema}.webhook_endpoint e
        where e.organization = p_organization and e.endpoint = v_found.endpoint for update;
      continue when v_held.status = 'deleted';
      if v_held.status = 'disabled' then
        if v_held.held_left <= 0 or v_clock >= v_held.held_until then
          update {schema}.webhook_endpoint e set missed_since = v_clock
            where e.organization = p_organization and e.endpoint = v_found.endpoint and e.missed_since is null;
          continue;
        end if;
        update {schema}.webhook_endpoint e set held_left = e.held_left - 1
          where e.organization = p_organization and e.endpoint = v_found.endpoint;
        v_queue := 'frozen';
      end if;
    end if;
    insert into {schema}.webhook_delivery (organization, endpoint, delivery, event, event_type, created_at, state,
        queue, next_attempt_at, body)
      values (p_organization, v_found.endpoint, p_delivery_stem || v_found.delivery_suffix, p_event, p_type, v_clock,
        'pending', v_queue, v_clock, p_body);
  end loop;
end
$fan$;

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
begin
  if p_expected is null then
    o_revision := 1;
    insert into {schema}.stream (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state,
        subject, next_due, snapshot)
      values (p_organization, p_mandate, 1, p_seq, p_hash, p_occurred_at, p_bytes, p_schema, p_state,
        p_subject, p_next_due, p_snapshot)
      on conflict do nothing;
    if not found then o_outcome := 'stale'; raise sqlstate 'SV000'; end if;
    v_follows := p_before_hash is null;
  else
    o_revision := p_expected + 1;
    update {schema}.stream s set revision = o_revision, seq = p_seq, hash = p_hash, occurred_at = p_occurred_at,
        bytes = p_bytes, schema = p_schema, state = p_state, next_due = p_next_due, snapshot = p_snapshot
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
      values (p_organization, p_subject, 1, p_subject_record) on conflict do nothing;
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
    if p_states[v_at] not in ('RESERVED', 'DENIED', 'INDETERMINATE') then
      -- By the key alone: a plan made on few rows may prefer another index that names the mandate, and read all of it.
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
  end loop;
  if v_subject_revision is not null then
    update {schema}.subject s set revision = v_subject_revision + 1, record = p_subject_record
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
begin
  o_outcomes := array_fill('alone'::text, array[v_count]);
  v_seq := array_fill(0::bigint, array[v_count]);

  for v_at in 1 .. v_count loop
    if p_expected[v_at] = '' then
      continue when p_before_hashes[v_at] <> '';
      insert into {schema}.stream (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state,
          subject, next_due, snapshot)
        values (p_organizations[v_at], p_mandates[v_at], 1, p_seqs[v_at]::bigint, p_hashes[v_at],
          p_occurred_at[v_at]::bigint, p_bytes[v_at]::bigint, p_schema, p_states[v_at],
          p_subjects[v_at], nullif(p_next_due[v_at], '')::bigint, p_snapshots[v_at])
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
          state = p_states[v_at], next_due = nullif(p_next_due[v_at], '')::bigint, snapshot = p_snapshots[v_at]
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

create or replace function {schema}.lease_due(p_token text, p_limit bigint, p_nanos bigint)
returns table (o_organization text, o_mandate text)
language plpgsql set enable_seqscan = off as $lease$
declare
  v_clock bigint := {schema}.store_clock();
begin
  return query
  with due as materialized (
    select s.organization, s.mandate, s.next_due from {schema}.stream s
    where s.next_due <= v_clock and coalesce((
      select held.expires_at from {schema}.lease held where held.organization = s.organization
        and held.kind = 'due_stream' and held.name = s.mandate), v_clock) <= v_clock
    order by s.next_due, s.mandate limit p_limit
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

create or replace function {schema}.release_leases(p_kind text, p_token text, p_organizations text[], p_names text[])
returns void language plpgsql set enable_seqscan = off as $release$
begin
  delete from {schema}.lease l where (l.organization, l.kind, l.name) in (
    select own.organization, own.kind, own.name
    from unnest(p_organizations, p_names) given (organization, name)
    join {schema}.lease own on own.organization = given.organization and own.kind = p_kind and own.name = given.name
    where own.token = p_token for update of own skip locked);
end
$release$;

create or replace function {schema}.replace_webhook_endpoint(
  p_organization text, p_endpoint text, p_expected bigint, p_status text, p_event_types text[],
  p_generation bigint, p_held_until bigint, p_held_left bigint, p_record text
) returns bigint language plpgsql set enable_seqscan = off as $replace$
declare
  v_before text;
begin
  select e.status into v_before from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint and e.revision = p_expected for update;
  if not found then return null; end if;
  update {schema}.webhook_endpoint e set revision = p_expected + 1,
      slot = case when p_status <> 'deleted' then e.slot end, status = p_status, event_types = p_event_types,
      generation = p_generation, held_until = p_held_until, record = p_record,
      held_left = case when p_status = 'disabled' and v_before = 'disabled' then e.held_left else p_held_left end,
      missed_since = case when p_status <> 'active' then e.missed_since end
    where e.organization = p_organization and e.endpoint = p_endpoint;
  if p_status = 'active' and v_before <> 'active' then
    update {schema}.webhook_delivery d set queue = 'due'
      where d.organization = p_organization and d.endpoint = p_endpoint and d.queue = 'frozen';
  end if;
  return p_expected + 1;
end
$replace$;

create or replace function {schema}.change_webhook_endpoint(
  p_organization text, p_endpoint text, p_delivery_suffix text, p_expected bigint, p_status text, p_event_types text[],
  p_generation bigint, p_held_until bigint, p_held_left bigint, p_record text,
  p_limit bigint, p_spread_now bigint, p_spread_over bigint,
  p_claim_kinds text[], p_claim_names text[], p_claim_fingerprints text[], p_claim_resources text[],
  p_claim_expiries text[], p_claim_places text[],
  out o_outcome text, out o_revision bigint, out o_kind text, out o_fingerprint text, out o_resource text
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $change$
declare
  v_revision bigint;
  v_living bigint;
begin
  o_outcome := 'stale';
  select e.revision into v_revision from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint;
  if v_revision is distinct from p_expected then raise sqlstate 'SV000'; end if;
  select * into o_kind, o_fingerprint, o_resource from {schema}.take_claims(p_organization, p_claim_kinds,
    p_claim_names, p_claim_fingerprints, p_claim_resources, p_claim_expiries, p_claim_places);
  if o_kind is not null then o_outcome := 'claim_taken'; raise sqlstate 'SV000'; end if;

  if p_expected is not null then
    o_revision := {schema}.replace_webhook_endpoint(p_organization, p_endpoint, p_expected, p_status, p_event_types,
      p_generation, p_held_until, p_held_left, p_record);
    if o_revision is null then raise sqlstate 'SV000'; end if;
    if p_spread_now is not null then
      update {schema}.webhook_delivery d set next_attempt_at = p_spread_now + p_spread_over * w.place / w.total
        from (
          select q.delivery, row_number() over (order by q.next_attempt_at, q.delivery) - 1 as place,
            count(*) over () as total
          from {schema}.webhook_delivery q where q.organization = p_organization and q.endpoint = p_endpoint
            and q.queue = 'due' and q.next_attempt_at <= p_spread_now
        ) w
        where d.organization = p_organization and d.endpoint = p_endpoint and d.delivery = w.delivery
          and d.open_token is null;
    end if;
  else
    select count(*) into v_living from {schema}.webhook_endpoint e
      where e.organization = p_organization and e.slot is not null;
    if v_living < p_limit then
      for v_slot in 1 .. p_limit loop
        insert into {schema}.webhook_endpoint (organization, endpoint, delivery_suffix, revision, slot, status, event_types,
            generation, held_until, held_left, record)
          values (p_organization, p_endpoint, p_delivery_suffix, 1, v_slot, p_status, p_event_types, p_generation, p_held_until,
            p_held_left, p_record)
          on conflict do nothing;
        if found then o_revision := 1; exit; end if;
      end loop;
      if o_revision = 1 then
        insert into {schema}.webhook_attempt_lock (organization, endpoint) values (p_organization, p_endpoint);
      end if;
    end if;
    if o_revision is null then
      perform 1 from {schema}.webhook_endpoint e
        where e.organization = p_organization and e.endpoint = p_endpoint;
      if not found then o_outcome := 'limit'; end if;
      raise sqlstate 'SV000';
    end if;
  end if;
  o_outcome := 'recorded';
exception
  when sqlstate 'SV000' then
    o_revision := null;
end
$change$;

create or replace function {schema}.add_webhook_delivery(
  p_organization text, p_endpoint text, p_delivery text, p_event text, p_event_type text, p_created_at bigint,
  p_next_attempt_at bigint, p_body text,
  p_claim_kinds text[], p_claim_names text[], p_claim_fingerprints text[], p_claim_resources text[],
  p_claim_expiries text[], p_claim_places text[],
  out o_outcome text, out o_kind text, out o_fingerprint text, out o_resource text
) language plpgsql set enable_seqscan = off as $add$
begin
  o_outcome := 'stale';
  perform 1 from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint and e.status = 'active';
  if not found then raise sqlstate 'SV000'; end if;
  select * into o_kind, o_fingerprint, o_resource from {schema}.take_claims(p_organization, p_claim_kinds,
    p_claim_names, p_claim_fingerprints, p_claim_resources, p_claim_expiries, p_claim_places);
  if o_kind is not null then o_outcome := 'claim_taken'; raise sqlstate 'SV000'; end if;
  perform 1 from {schema}.webhook_endpoint e
    where e.organization = p_organization and e.endpoint = p_endpoint and e.status = 'active' for share;
  if not found then raise sqlstate 'SV000'; end if;
  insert into {schema}.webhook_delivery (organization, endpoint, delivery, event, event_type, created_at, state,
      queue, next_attempt_at, body)
    values (p_organization, p_endpoint, p_delivery, p_event, p_event_type, p_created_at, 'pending',
      'due', p_next_attempt_at, p_body);
  o_outcome := 'recorded';
exception
  when sqlstate 'SV000' then
    null;
end
$add$;

create or replace function {schema}.webhook_queues()
returns table (endpoint text, organization text, next_attempt_at bigint)
language plpgsql rows 10 set enable_seqscan = off set enable_sort = off as $queues$
declare
  v_found record;
begin
  select d.endpoint, d.organization, d.next_attempt_at into v_found from {schema}.webhook_delivery d
    where d.queue = 'due' order by d.endpoint, d.organization, d.next_attempt_at limit 1;
  while found loop
    endpoint := v_found.endpoint;
    organization := v_found.organization;
    next_attempt_at := v_found.next_attempt_at;
    return next;
    select d.endpoint, d.organization, d.next_attempt_at into v_found from {schema}.webhook_delivery d
      where d.queue = 'due' and (d.endpoint, d.organization) > (v_found.endpoint, v_found.organization)
      order by d.endpoint, d.organization, d.next_attempt_at limit 1;
  end loop;
end
$queues$;

create or replace function {schema}.lease_webhook_attempts(
  p_token text, p_limit bigint, p_per_endpoint bigint, p_assured bigint, p_per_organization bigint, p_nanos bigint
) returns table (
  o_organization text, o_endpoint text, o_revision bigint, o_missed_since bigint, o_endpoint_record text,
  o_delivery text, o_event text, o_event_type text, o_created_at bigint, o_state text, o_next_attempt_at bigint,
  o_open_token text, o_open_at bigint, o_open_expires_at bigint, o_open_generation bigint, o_attempts text, o_body text
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan as $lease$
declare
  v_clock bigint := {schema}.store_clock();
  v_organizations text[];
  v_endpoints text[];
  v_since bigint[];
  v_idle_organizations text[];
  v_idle_endpoints text[];
  v_idle record;
  v_rows bigint;
  v_moved bigint := 0;
begin
  -- Nobody is sent anything at an endpoint that is deleted; one that is disabled may be active again.
  update {schema}.webhook_delivery d set queue = case when come.status = 'deleted' then 'frozen' else 'due' end
    from (
      select l.organization, l.endpoint, l.delivery, (
          select e.status from {schema}.webhook_endpoint e
            where e.organization = l.organization and e.endpoint = l.endpoint
        ) as status from {schema}.webhook_delivery l
        where l.queue = 'later' and l.next_attempt_at <= v_clock
        order by l.next_attempt_at limit 32 * p_limit for update skip locked
    ) come
    where d.organization = come.organization and d.endpoint = come.endpoint and d.delivery = come.delivery;

  select array_agg(f.organization) filter (where f.is_due), array_agg(f.endpoint) filter (where f.is_due),
      array_agg(f.next_attempt_at) filter (where f.is_due),
      array_agg(f.organization) filter (where not f.is_due), array_agg(f.endpoint) filter (where not f.is_due)
    into v_organizations, v_endpoints, v_since, v_idle_organizations, v_idle_endpoints
    from (
      select e.organization, e.endpoint, q.next_attempt_at,
        e.status = 'active' and q.next_attempt_at <= v_clock as is_due
      from {schema}.webhook_queues() q
        join {schema}.webhook_endpoint e on e.organization = q.organization and e.endpoint = q.endpoint
    ) f;

  select array_agg(l.organization), array_agg(l.endpoint) into v_organizations, v_endpoints from (
    select w.organization, w.endpoint from unnest(v_organizations, v_endpoints, v_since) w (organization, endpoint, since)
      cross join lateral (
        select count(*) as open from (
          select from {schema}.webhook_delivery o where o.organization = w.organization and o.endpoint = w.endpoint
            and o.open_token is not null limit p_per_endpoint
        ) of_endpoint
      ) own
      cross join lateral (
        select count(*) as open from (
          select from {schema}.webhook_delivery o where o.organization = w.organization
            and o.open_token is not null limit p_per_organization
        ) of_organization
      ) every
      where own.open < p_per_endpoint and (own.open < p_assured or every.open < p_per_organization)
      order by own.open, w.since, w.endpoint limit p_limit
  ) l;
  -- What is open at these endpoints is counted again below, by a statement that sees what the holder before has opened.
  select array_agg(l.organization), array_agg(l.endpoint) into v_organizations, v_endpoints from (
    select k.organization, k.endpoint from unnest(v_organizations, v_endpoints) w (organization, endpoint)
      join {schema}.webhook_attempt_lock k on k.organization = w.organization and k.endpoint = w.endpoint
      for update of k skip locked
  ) l;
  if v_endpoints is not null then
    return query with picked as materialized (
      select r.organization, r.endpoint, r.delivery,
        row_number() over (order by r.turn, r.next_attempt_at, r.endpoint) as place
      from (
        select w.organization, w.endpoint, t.delivery, t.next_attempt_at, own.open + t.place as turn,
          every.open + row_number() over (
            partition by w.organization order by own.open + t.place, t.next_attempt_at, w.endpoint) as of_organization
        from unnest(v_organizations, v_endpoints) w (organization, endpoint)
          cross join lateral (
            select count(*) as open from {schema}.webhook_delivery o
              where o.organization = w.organization and o.endpoint = w.endpoint and o.open_token is not null
          ) own
          cross join lateral (
            select count(*) as open from {schema}.webhook_delivery o
              where o.organization = w.organization and o.open_token is not null
          ) every
          cross join lateral (
            select d.delivery, d.next_attempt_at, row_number() over (order by d.next_attempt_at, d.delivery) as place
            from {schema}.webhook_delivery d
            where d.organization = w.organization and d.endpoint = w.endpoint and d.queue = 'due'
              and d.next_attempt_at <= v_clock
            order by d.next_attempt_at, d.delivery limit greatest(0, least(p_limit, p_per_endpoint - own.open))
          ) t
      ) r
      where r.of_organization <= p_per_organization or r.turn <= p_assured
      order by place limit p_limit
    ), opened as (
      update {schema}.webhook_delivery d
        set queue = null, open_token = p_token, open_at = v_clock, open_expires_at = v_clock + p_nanos,
          open_generation = e.generation
        from picked p
          join {schema}.webhook_endpoint e on e.organization = p.organization and e.endpoint = p.endpoint
            and e.status = 'active'
        where d.organization = p.organization and d.endpoint = p.endpoint and d.delivery = p.delivery
          -- Not by the index of the queue, which would read all of an endpoint's.
          and coalesce(d.queue, '') = 'due' and d.open_token is null
        returning p.place, e.organization, e.endpoint, e.revision, e.missed_since, e.record, d.delivery, d.event,
          d.event_type, d.created_at, d.state, d.next_attempt_at, d.open_token, d.open_at, d.open_expires_at,
          d.open_generation, d.attempts, d.body
    )
    select o.organization, o.endpoint, o.revision, o.missed_since, o.record, o.delivery, o.event, o.event_type,
        o.created_at, o.state, o.next_attempt_at, o.open_token, o.open_at, o.open_expires_at, o.open_generation,
        o.attempts, o.body
      from opened o order by o.place;
  end if;
  -- What waits where nothing is sent, or for another time, is put away, a little of it while there is other work.
  for v_idle in
    select e.organization, e.endpoint, e.status
      from unnest(v_idle_organizations, v_idle_endpoints) i (organization, endpoint)
      join {schema}.webhook_endpoint e on e.organization = i.organization and e.endpoint = i.endpoint
      limit p_limit for update of e skip locked
  loop
    update {schema}.webhook_delivery d set queue = case when v_idle.status = 'active' then 'later' else 'frozen' end
      from (
        select w.organization, w.endpoint, w.delivery from {schema}.webhook_delivery w
          where w.organization = v_idle.organization and w.endpoint = v_idle.endpoint and w.queue = 'due'
            and (v_idle.status <> 'active' or w.next_attempt_at > v_clock)
          limit p_limit for update skip locked
      ) idle
      where d.organization = idle.organization and d.endpoint = idle.endpoint and d.delivery = idle.delivery;
    get diagnostics v_rows = row_count;
    v_moved := v_moved + v_rows;
    exit when v_moved >= p_limit;
  end loop;
end
$lease$;

create or replace function {schema}.record_webhook_ends(
  p_organizations text[], p_endpoints text[], p_expected text[], p_statuses text[], p_held_until text[],
  p_held_left text[], p_records text[],
  p_places text[], p_deliveries text[], p_tokens text[], p_states text[], p_next_attempts text[], p_attempts text[]
) returns setof bigint
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan as $record$
declare
  v_taken bigint[];
  v_stale bigint[];
begin
  if cardinality(p_endpoints) = 1 then
    select array_agg(1) into v_taken from (
      select from {schema}.webhook_endpoint e where e.organization = p_organizations[1]
        and e.endpoint = p_endpoints[1] and e.revision = p_expected[1]::bigint for update
    ) l;
  else
    select array_agg(l.place) into v_taken from (
      select p.place from unnest(p_organizations, p_endpoints, p_expected) with ordinality
          p (organization, endpoint, expected, place)
        join {schema}.webhook_endpoint e on e.organization = p.organization and e.endpoint = p.endpoint
        where e.revision = p.expected::bigint
        order by p.organization, p.endpoint for update of e skip locked
    ) l;
  end if;
  -- Whoever changes an open attempt holds its endpoint first.
  select array_agg(d.place) into v_stale from unnest(p_places::bigint[], p_deliveries, p_tokens) d (place, delivery, token)
    where not exists (
      select from {schema}.webhook_delivery w where w.organization = p_organizations[d.place]
        and w.endpoint = p_endpoints[d.place] and w.delivery = d.delivery and w.open_token = d.token);
  select array_agg(t.place) into v_taken from unnest(v_taken) t (place)
    where v_stale is null or t.place <> all (v_stale);
  if v_taken is null then return; end if;

  update {schema}.webhook_endpoint e set revision = e.revision + 1, status = p_statuses[t.place],
      held_until = nullif(p_held_until[t.place], '')::bigint, record = p_records[t.place],
      held_left = case when p_statuses[t.place] = 'disabled' and e.status = 'disabled' then e.held_left
        else nullif(p_held_left[t.place], '')::bigint end
    from unnest(v_taken) t (place)
    where e.organization = p_organizations[t.place] and e.endpoint = p_endpoints[t.place];
  update {schema}.webhook_delivery w set state = d.state, next_attempt_at = nullif(d.next_attempt, '')::bigint,
      attempts = d.attempts,
      queue = case when d.state <> 'pending' then null when p_statuses[d.place] = 'active' then 'later'
        else 'frozen' end,
      open_token = null, open_at = null, open_expires_at = null, open_generation = null
    from unnest(p_places::bigint[], p_deliveries, p_states, p_next_attempts, p_attempts)
      d (place, delivery, state, next_attempt, attempts)
    where d.place = any (v_taken) and w.organization = p_organizations[d.place] and w.endpoint = p_endpoints[d.place]
      and w.delivery = d.delivery;
  return query select unnest(v_taken);
end
$record$;

create or replace function {schema}.rotate_signing_key(
  p_organization text, p_kid text, p_public_jwk text, p_sealed text, p_delay bigint, p_now boolean,
  out o_outcome text, out o_kid text, out o_signs_from bigint
) language plpgsql set enable_seqscan = off as $rotate$
declare
  v_clock bigint := {schema}.store_clock();
begin
  o_kid := p_kid;
  insert into {schema}.signing_key (organization, kid, created_at, signs_from, public_jwk, sealed)
    values (p_organization, p_kid, v_clock, 0, p_public_jwk, p_sealed) on conflict do nothing;
  if found then
    o_outcome := 'first';
    o_signs_from := v_clock;
    return;
  end if;
  perform 1 from {schema}.signing_key k where k.organization = p_organization and k.signs_from = 0 for update;
  v_clock := {schema}.store_clock();
  if p_now then
    update {schema}.signing_key k set signs_from = null, sealed = null
      where k.organization = p_organization and k.signs_from > v_clock;
    select greatest(v_clock, max(k.signs_from) + 1) into o_signs_from from {schema}.signing_key k
      where k.organization = p_organization;
  else
    select k.kid, k.signs_from into o_kid, o_signs_from from {schema}.signing_key k
      where k.organization = p_organization and k.signs_from > v_clock;
    if found then
      o_outcome := 'pending';
      return;
    end if;
    o_kid := p_kid;
    o_signs_from := v_clock + p_delay;
  end if;
  insert into {schema}.signing_key (organization, kid, created_at, signs_from, public_jwk, sealed)
    values (p_organization, p_kid, v_clock, o_signs_from, p_public_jwk, p_sealed);
  o_outcome := 'rotated';
end
$rotate$;

create or replace function {schema}.withdraw_signing_key(
  p_organization text, p_kid text, p_next_kid text, p_public_jwk text, p_sealed text,
  out o_outcome text, out o_withdrawn_at bigint, out o_signing text
) language plpgsql set enable_seqscan = off as $withdraw$
declare
  v_clock bigint;
  v_from bigint;
begin
  perform 1 from {schema}.signing_key k where k.organization = p_organization and k.signs_from = 0 for update;
  v_clock := {schema}.store_clock();
  select k.kid into o_signing from {schema}.signing_key k
    where k.organization = p_organization and k.signs_from <= v_clock and k.withdrawn_at is null
    order by k.signs_from desc limit 1;
  select k.withdrawn_at into o_withdrawn_at from {schema}.signing_key k
    where k.organization = p_organization and k.kid = p_kid;
  if not found then
    o_outcome := 'unknown';
    return;
  end if;
  if o_withdrawn_at is not null then
    o_outcome := 'withdrawn';
    return;
  end if;
  o_withdrawn_at := v_clock;
  if o_signing = p_kid then
    update {schema}.signing_key k set signs_from = null, sealed = null, withdrawn_at = v_clock
      where k.organization = p_organization and k.signs_from > v_clock;
    select greatest(v_clock, max(k.signs_from) + 1) into v_from from {schema}.signing_key k
      where k.organization = p_organization;
    insert into {schema}.signing_key (organization, kid, created_at, signs_from, public_jwk, sealed)
      values (p_organization, p_next_kid, v_clock, v_from, p_public_jwk, p_sealed);
    o_signing := p_next_kid;
  end if;
  update {schema}.signing_key k set withdrawn_at = v_clock, sealed = null,
      signs_from = case when k.signs_from <= v_clock then k.signs_from end
    where k.organization = p_organization and k.kid = p_kid;
  o_outcome := 'withdrawn';
end
$withdraw$;

create or replace function {schema}.database_identity(out o_cluster text, out o_timeline text) language plpgsql as $identity$
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

insert into {schema}.history (ordinal, history, began_at, cluster, timeline, continues)
  select 1, left(replace(gen_random_uuid()::text, '-', ''), 16),
    {schema}.store_clock(), i.o_cluster, i.o_timeline, false
  from {schema}.database_identity() i;
`
