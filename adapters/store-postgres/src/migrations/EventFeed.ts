/**
 * The order of an organization's events over all its mandates: by the transaction that recorded them, within one by mandate
 * and `seq`. A transaction gets its number before it writes, and a reader who stays below the lowest number that is still
 * at work meets nothing later that should have come before. No sequence and no lock, so that appends cost one entry of an
 * index. The default sets it, for a release that knows nothing of it too; what was recorded before comes first.
 */
export const eventFeed = `
alter table {schema}.event add column position bigint not null default 0;
alter table {schema}.event alter column position set default pg_current_xact_id()::text::bigint;
create index event_feed on {schema}.event (organization, position, mandate, seq);
`
