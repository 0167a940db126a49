import { nextRevision } from "./NextRevision.ts"
import { acknowledgeHistory } from "./operation/AcknowledgeHistory.ts"
import { apiKeySecretTable } from "./operation/ApiKeySecretTable.ts"
import { cleanOrganizations } from "./operation/CleanOrganizations.ts"
import { databaseIdentity } from "./operation/DatabaseIdentity.ts"
import { firstHistory } from "./operation/FirstHistory.ts"
import { historyState } from "./operation/HistoryState.ts"
import { historyTable } from "./operation/HistoryTable.ts"
import { operatorLogTable } from "./operation/OperatorLogTable.ts"
import { organizationTables } from "./operation/OrganizationTables.ts"
import { firstPartitioning, partitioningTable } from "./operation/PartitioningTable.ts"
import { putApiKey } from "./operation/PutApiKey.ts"
import { rotateSigningKey } from "./operation/RotateSigningKey.ts"
import { signingKeyTable } from "./operation/SigningKeyTable.ts"
import { withdrawSigningKey } from "./operation/WithdrawSigningKey.ts"
import { previousCalls, previousEnds } from "./PreviousCalls.ts"
import { storeClock } from "./StoreClock.ts"
import { appendChanges } from "./streams/AppendChanges.ts"
import { appendOne } from "./streams/AppendOne.ts"
import { approvalTables } from "./streams/ApprovalTables.ts"
import { approvalTokenTable } from "./streams/ApprovalTokenTable.ts"
import { leaseDue } from "./streams/LeaseDue.ts"
import { leaseTable } from "./streams/LeaseTable.ts"
import { loadStream } from "./streams/LoadStream.ts"
import { releaseLeases } from "./streams/ReleaseLeases.ts"
import { removedMandateTable } from "./streams/RemovedMandateTable.ts"
import { removeMandate } from "./streams/RemoveMandate.ts"
import { streamTables } from "./streams/StreamTables.ts"
import { takeClaims } from "./streams/TakeClaims.ts"
import { addWebhookDelivery } from "./webhooks/AddWebhookDelivery.ts"
import { changeWebhookEndpoint } from "./webhooks/ChangeWebhookEndpoint.ts"
import { fanOut } from "./webhooks/FanOut.ts"
import { giveUpWebhookDeliveries } from "./webhooks/GiveUpWebhookDeliveries.ts"
import { leaseWebhookAttempts } from "./webhooks/LeaseWebhookAttempts.ts"
import { recordWebhookAttempts } from "./webhooks/RecordWebhookAttempts.ts"
import { replaceWebhookEndpoint } from "./webhooks/ReplaceWebhookEndpoint.ts"
import { webhookQueues } from "./webhooks/WebhookQueues.ts"
import { webhookTables } from "./webhooks/WebhookTables.ts"

const TABLES = [
  organizationTables,
  apiKeySecretTable,
  streamTables,
  approvalTables,
  approvalTokenTable,
  leaseTable,
  webhookTables,
  signingKeyTable,
  operatorLogTable,
  historyTable,
  partitioningTable,
  removedMandateTable
]

const FUNCTIONS = [
  storeClock,
  nextRevision,
  previousCalls,
  loadStream,
  takeClaims,
  fanOut,
  appendOne,
  appendChanges,
  leaseDue,
  releaseLeases,
  replaceWebhookEndpoint,
  changeWebhookEndpoint,
  addWebhookDelivery,
  webhookQueues,
  leaseWebhookAttempts,
  recordWebhookAttempts,
  previousEnds,
  cleanOrganizations,
  removeMandate,
  giveUpWebhookDeliveries,
  putApiKey,
  rotateSigningKey,
  withdrawSigningKey,
  databaseIdentity,
  historyState,
  acknowledgeHistory
]

/**
 * The current schema, for an empty database. In every table with data of organizations the primary key begins with the
 * organization, and text is compared by its bytes. Two small tables find the organization by the hash of a secret. The migrations (`Migrations.ts`) lead to the same schema.
 */
export const schemaStatements = [...TABLES, ...FUNCTIONS, firstHistory, firstPartitioning].join("")
