/**
 * Withdraws a compromised signing key: it leaves the key set, loses its private half, and never signs again. If it is the
 * current key, as by `signingKeyAt` of the domain, another key signs from the same step on, and a key that has not started
 * to sign is withdrawn too, because it was stored in the same place. The outcome is `withdrawn` (with the instant of an
 * earlier withdrawal, if there was one) or `unknown`. Rows are never deleted, because each change of the keys locks the
 * first one.
 */
export const withdrawSigningKey = `
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
`
