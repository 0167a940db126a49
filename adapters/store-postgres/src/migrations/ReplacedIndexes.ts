/** Drops the indexes that the step before has replaced. The lock that this needs is held for a moment. */
export const replacedIndexes = `
drop index {schema}.stream_due;
drop index {schema}.stream_due_of_all;
drop index {schema}.authorization_row_state;
drop index {schema}.authorization_row_open;
drop index {schema}.stream_subject;
drop index {schema}.stream_state;
drop index {schema}.authorization_row_ordinal;
drop index {schema}.approval_session_ordinal;
alter index {schema}.stream_subject_partial rename to stream_subject;
alter index {schema}.stream_state_partial rename to stream_state;
alter index {schema}.authorization_row_ordinal_partial rename to authorization_row_ordinal;
alter index {schema}.approval_session_ordinal_partial rename to approval_session_ordinal;
`
