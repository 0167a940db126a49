/**
 * The histories that the store has had, one row each; the last one goes on.
 *
 * A promoted standby, a restored backup and a loaded dump hold a history that may lack what was acknowledged, or have
 * other events in its places, and nothing in the other tables says so. So each row has the cluster and the timeline
 * that it was recorded on, which change then; an operator says what became of it, and that begins the next row.
 */
export const historyTable = `
create table {schema}.history (
  ordinal integer primary key,
  history text collate "C" not null unique,
  began_at bigint not null,
  cluster text, -- null where the server does not tell, as is the timeline
  timeline text,
  continues boolean not null -- nothing was lost, and positions in the history before are good in this one too
);
`
