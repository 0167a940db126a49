-- Run by psql as the superuser, once, when the data is made: the roles and the database of docs/operate/install.md.
\set owner_password `cat /run/secrets/svc_owner_password`
\set password `cat /run/secrets/svc_password`

create role svc_owner login password :'owner_password';
create role svc login password :'password';
create database svc owner svc_owner encoding 'UTF8' template template0;
\connect svc
alter default privileges for role svc_owner grant usage on schemas to svc;
alter default privileges for role svc_owner grant select, insert, update, delete on tables to svc;
