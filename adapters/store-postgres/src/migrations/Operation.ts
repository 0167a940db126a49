/**
 * Signing keys that take turns, and the log of what operators did.
 *
 * A key signs from `signs_from` until a later one does. The first of a deployment signs from 0, so that of several
 * processes that make it one wins; the row is never removed, and whoever adds another key locks it. A key without
 * `signs_from` was withdrawn before it signed; one without `sealed` cannot sign any more. `state` is what the release
 * before this one looks for.
 */
export const operation = `
alter table {schema}.signing_key add column signs_from bigint default 0;
alter table {schema}.signing_key alter column sealed drop not null;
alter table {schema}.signing_key alter column state drop not null;
create unique index signing_key_signs_from on {schema}.signing_key (organization, signs_from);

create function {schema}.rotate_signing_key(
  p_organization text, p_kid text, p_public_jwk text, p_sealed text, p_delay bigint, p_now boolean,
  out o_outcome text, out o_kid text, out o_signs_from bigint
) language plpgsql set enable_seqscan = off as $rotate$
declare
  v_clock bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000;
begin
  o_kid := p_kid;
  insert into {schema}.signing_key (organization, kid, state, created_at, signs_from, public_jwk, sealed)
    values (p_organization, p_kid, 'SIGNING', v_clock, 0, p_public_jwk, p_sealed) on conflict do nothing;
  if found then
    o_outcome := 'first';
    o_signs_from := v_clock;
    return;
  end if;
  perform 1 from {schema}.signing_key k where k.organization = p_organization and k.signs_from = 0 for update;
  v_clock := (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000;
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

create table {schema}.operator_log (
  organization text collate "C" not null,
  at bigint not null,
  entry text collate "C" not null,
  operator text not null,
  command text not null,
  arguments text not null,
  primary key (organization, at, entry)
);
`
