/** The last use of an API key, coarsely: beside its record, which is replaced as a whole. */
export const apiKeyUse = `
alter table {schema}.api_key add column last_used_at bigint;
`
