import { apiKeySecretTable } from "../schema/operation/ApiKeySecretTable.ts"
import { putApiKey } from "../schema/operation/PutApiKey.ts"
import { appendOne } from "../schema/streams/AppendOne.ts"
import { approvalTokenTable } from "../schema/streams/ApprovalTokenTable.ts"
import { loadStream } from "../schema/streams/LoadStream.ts"

/**
 * Moves the uniqueness of secrets out of the tables of organizations, whose unique indexes then all have the organization.
 * Writes of keys and sessions wait, since those that came meanwhile would be missed.
 */
export const secretTables = `
lock table {schema}.api_key, {schema}.approval_session in share row exclusive mode;
${apiKeySecretTable}${approvalTokenTable}
insert into {schema}.api_key_secret (hash, organization, api_key)
  select k.hash, k.organization, k.api_key from {schema}.api_key k;
insert into {schema}.approval_token (token_hash, organization, session)
  select s.token_hash, s.organization, s.session from {schema}.approval_session s;
drop index {schema}.api_key_hash;
drop index {schema}.approval_session_token;
${putApiKey}${loadStream}${appendOne}`
