/**
 * The histories that the store has had, one row each; the last one is current.
 *
 * A promoted standby, a restored backup and a loaded dump may lack acknowledged events or have others in their place, and
 * the other tables do not show that. So each row has the cluster and the timeline that it was recorded on, which change in
 * these cases. An operator then acknowledges the change, which begins the next row.
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
