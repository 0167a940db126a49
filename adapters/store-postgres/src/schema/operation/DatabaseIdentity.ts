/**
 * The cluster and timeline that a write goes to, as far as the server reports them. Servers that speak the protocol of
 * Postgres without its write-ahead log, or do not allow these functions, report one or neither.
 */
export const databaseIdentity = `
create or replace function {schema}.database_identity(out o_cluster text, out o_timeline text) language plpgsql as $identity$
begin
  -- A replica is on whatever timeline it follows, and takes no writes.
  if pg_is_in_recovery() then return; end if;
  -- Servers that speak Postgres without its log of writes, or keep these functions to themselves, tell one or neither.
  begin
    select c.system_identifier::text into o_cluster from pg_control_system() c;
  exception when insufficient_privilege or undefined_function or feature_not_supported then
    null;
  end;
  begin
    o_timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  exception when insufficient_privilege or undefined_function or feature_not_supported then
    null;
  end;
end
$identity$;
`
