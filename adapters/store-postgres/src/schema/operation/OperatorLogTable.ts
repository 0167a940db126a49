/** The log of what operators did to an organization, or to the deployment under the organization ''. */
export const operatorLogTable = `
create table {schema}.operator_log (
  organization text collate "C" not null,
  at bigint not null,
  entry text collate "C" not null,
  operator text not null,
  command text not null,
  arguments text not null,
  primary key (organization, at, entry)
);
`
