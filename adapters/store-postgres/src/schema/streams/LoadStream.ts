/**
 * Loads everything that one command needs in one statement and from one snapshot, as a single row whose columns are null
 * for what does not exist. The stream is that of a mandate, an authorization, an approval session, or a session's token; a
 * token may be looked up without its organization.
 *
 * Open reservations are found by their own index, and named rows by their key alone: a plan made on few rows may prefer the
 * index by state, which keeps an entry of every earlier reservation until the table is vacuumed.
 */
export const loadStream = `
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
    select t.organization, t.session into o_organization, v_session
      from {schema}.approval_token t where t.token_hash = p_reference;
    if p_organization is not null and o_organization is distinct from p_organization then
      o_organization := p_organization;
    else
      select s.mandate into v_mandate from {schema}.approval_session s
        where s.organization = o_organization and s.session = v_session;
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
`
