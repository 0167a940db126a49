/**
 * Publishes a signing key that signs after `p_delay` nanoseconds, or at once with `p_now`, which is for a compromise: a
 * key that has not started to sign is then withdrawn, because it was stored in the same place. The outcome is `first` (the
 * first key of a deployment, which signs at once), `rotated` or `pending` (with the key that has not started to sign). Each
 * rotation locks the first key, so that rotations run one after another.
 */
export const rotateSigningKey = `
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
`
