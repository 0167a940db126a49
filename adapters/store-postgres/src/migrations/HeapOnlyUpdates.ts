import { appendChanges } from "../schema/streams/AppendChanges.ts"
import { appendOne } from "../schema/streams/AppendOne.ts"
import { leaseDue } from "../schema/streams/LeaseDue.ts"
import { loadStream } from "../schema/streams/LoadStream.ts"

/**
 * Moves what appends change out of the indexes of `stream` and `authorization_row`, so that their updates become heap-only,
 * and makes indexes that no look-up by key can choose.
 *
 * Each stream that has something to come is written once, and a narrow row for each closed authorization. Reads go on, and
 * writes wait, since what an append changed meanwhile would be missed.
 */
export const heapOnlyUpdates = `
lock table {schema}.stream, {schema}.authorization_row, {schema}.approval_session in share row exclusive mode;

update {schema}.stream s set wake_at = s.next_due, open_authorizations = array(
    select a.authorization_id from {schema}.authorization_row a
      where a.organization = s.organization and a.mandate = s.mandate and a.reservation is not null
      order by a.ordinal
  ) where s.next_due is not null;
create index stream_subject_partial on {schema}.stream (organization, subject, mandate) where subject is not null;
create index stream_state_partial on {schema}.stream (organization, state, mandate) where state is not null;
create unique index authorization_row_ordinal_partial on {schema}.authorization_row (organization, mandate, ordinal)
  where ordinal is not null;
create index approval_session_ordinal_partial on {schema}.approval_session (organization, mandate, ordinal)
  where ordinal is not null;
create index stream_wake on {schema}.stream (organization, wake_at, mandate) where wake_at is not null;
create index stream_wake_of_all on {schema}.stream (wake_at, mandate) where wake_at is not null;

create table {schema}.closed_authorization (
  organization text collate "C" not null,
  mandate text collate "C" not null,
  state text collate "C" not null,
  ordinal bigint not null,
  authorization_id text collate "C" not null,
  primary key (organization, mandate, state, ordinal)
);
insert into {schema}.closed_authorization (organization, mandate, state, ordinal, authorization_id)
  select a.organization, a.mandate, a.state, a.ordinal, a.authorization_id from {schema}.authorization_row a
    where a.state <> 'RESERVED';
${loadStream}${appendOne}${appendChanges}${leaseDue}`
