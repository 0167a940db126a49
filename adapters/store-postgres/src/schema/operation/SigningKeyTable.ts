/**
 * Signing keys, those of the deployment under the organization ''.
 *
 * A key signs from `signs_from` until a later one does. The first of a deployment signs from 0, so that one of several
 * processes that make it wins. Its row is never deleted, and every change of the keys locks it. A key without `signs_from`
 * was withdrawn before it signed; one without `sealed` can no longer sign.
 */
export const signingKeyTable = `
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
`
