/**
 * Loads everything that one command needs in one statement and from one snapshot, as a single row whose columns are null
 * for what does not exist. The stream is that of a mandate, an authorization, an approval session, or a session's token; a
 * token may be looked up without its organization.
 *
 * Open reservations are found by their keys, which the stream names.
 */
export const loadStream = `
create or replace function {schema}.load_stream(
  p_organization text, p_kind text, p_reference text, p_authorizations text[], p_kinds text[], p_names text[],
  p_approval boolean,
  out o_clock bigint, out o_organization text, out o_kinds text[], out o_names text[], out o_fingerprints text[],
  out o_resources text[],
  out o_revision bigint, out o_seq bigint, out o_hash text, out o_occurred_at bigint, out o_bytes bigint,
  out o_snapshot text, out o_open text[], out o_due text[], out o_named text[],
  out o_session text, out o_subject text, out o_subject_revision bigint
) language plpgsql stable set enable_seqscan = off as $load$
declare
  v_mandate text;
  v_session text;
  v_subject text;
  v_now bigint;
  v_open text[];
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
    select t.organization, t.session into o_organization, v_session
      from {schema}.approval_token t where t.token_hash = p_reference;
    if p_organization is not null and o_organization is distinct from p_organization then
      o_organization := p_organization;
    else
      select s.mandate into v_mandate from {schema}.approval_session s
        where s.organization = o_organization and s.session = v_session;
    end if;
  end if;

  if cardinality(p_names) > 0 then
    select array_agg(asked.kind), array_agg(asked.name), array_agg(held.fingerprint), array_agg(held.resource)
      into o_kinds, o_names, o_fingerprints, o_resources
      from unnest(p_kinds, p_names) asked (kind, name) cross join lateral (
        select c.fingerprint, c.resource from {schema}.claim c
          where c.organization = o_organization and c.kind = asked.kind and c.name = asked.name
            and (c.expires_at is null or c.expires_at > o_clock)
          offset 0
      ) held;
  end if;
  if v_mandate is null then return; end if;

  select s.revision, s.seq, s.hash, s.occurred_at, s.bytes, s.snapshot, s.subject, s.open_authorizations
    into o_revision, o_seq, o_hash, o_occurred_at, o_bytes, o_snapshot, v_subject, v_open
    from {schema}.stream s where s.organization = o_organization and s.mandate = v_mandate;
  if not found then return; end if;
  v_now := greatest(o_clock, o_occurred_at);

  select array_agg(o.reservation order by o.ordinal),
      array_agg(o.record order by o.ordinal) filter (where o.expires_at <= v_now)
    into o_open, o_due from (
      select a.reservation, a.record, a.ordinal, a.expires_at from {schema}.authorization_row a
        where a.organization = o_organization and a.authorization_id = any (v_open)
        offset 0
    ) o;
  if p_kind = 'authorization' then p_authorizations := p_authorizations || p_reference; end if;
  if cardinality(p_authorizations) > 0 then
    select array_agg(named.record) into o_named
      from unnest(p_authorizations) asked (id) cross join lateral (
        select a.record from {schema}.authorization_row a
          where a.organization = o_organization and a.authorization_id = asked.id and a.mandate = v_mandate
          offset 0
      ) named;
  end if;

  if p_approval then
    if v_session is null then
      select s.record into o_session from {schema}.approval_session s
        where s.organization = o_organization and s.mandate = v_mandate and s.ordinal > 0 order by s.ordinal desc limit 1;
    else
      select s.record into o_session from {schema}.approval_session s
        where s.organization = o_organization and s.session = v_session;
    end if;
    select s.record, s.revision into o_subject, o_subject_revision from {schema}.subject s
      where s.organization = o_organization and s.subject = v_subject;
  end if;
end
$load$;
`
