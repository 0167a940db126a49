-- Run by psql as the superuser, once, when the data is made: the roles and the database of docs/operate/install.md.
\set owner_password `cat /run/secrets/svc_owner_password`
\set password `cat /run/secrets/svc_password`

-- Postgres takes an empty password for none, and nobody could log in.
select length(:'owner_password') > 0 and length(:'password') > 0 as are_given \gset
\if :are_given
\else
do $$ begin
  raise exception 'svc_owner_password or svc_password is empty or cannot be read'
    using hint = 'Write them, remove the volume of the data, which is empty, and start again.';
end $$;
\endif

create role svc_owner login password :'owner_password';
create role svc login password :'password';
create database svc owner svc_owner encoding 'UTF8' template template0;
\connect svc
alter default privileges for role svc_owner grant usage on schemas to svc;
alter default privileges for role svc_owner grant select, insert, update, delete on tables to svc;
