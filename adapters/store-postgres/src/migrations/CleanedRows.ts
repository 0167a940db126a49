import { cleanOrganizations } from "../schema/operation/CleanOrganizations.ts"

/**
 * When deliveries ended, and indexes of what is to be removed. Deliveries that ended before count from this step on. Their
 * column is added without writing them; the indexes are built while writes wait.
 */
export const cleanedRows = `
execute format('alter table {schema}.webhook_delivery add column ended_at bigint default %s', {schema}.store_clock());
alter table {schema}.webhook_delivery alter column ended_at drop default;
create index webhook_delivery_ended on {schema}.webhook_delivery (organization, endpoint, ended_at)
  where state <> 'pending';
create index claim_expiry on {schema}.claim (organization, expires_at) where expires_at is not null;
create index claim_of_delivery on {schema}.claim (organization, resource)
  where kind = 'idempotency_key' and left(resource, 4) = 'dlv_';
${cleanOrganizations}`
