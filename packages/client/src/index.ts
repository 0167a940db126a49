/**
 * A client of the HTTP API on web standards alone.
 *
 * @module
 */
export type {
  AuthorizationCalls,
  EventCalls,
  MandateCalls,
  PageQuery,
  PasskeyCalls,
  ProposalOptions,
  StoredOpening,
  WebhookCalls
} from "./ApiCalls.ts"
export type { Calls, Client, ClientOptions, ExecutingCalls } from "./Client.ts"
export { createClient, RETRIES_DEFAULT, TIMEOUT_DEFAULT_MILLISECONDS } from "./Client.ts"
export { type CommitmentPair, commitmentOf, createCommitment } from "./Commitment.ts"
export type {
  Execution,
  ExecutionOptions,
  ExecutionReport,
  Reconciliation,
  Run,
  RunOutcome,
  UncertainBecause
} from "./Execution.ts"
export type * from "./Resources.ts"
export { type Backoff, RETRY_AFTER_MAX_SECONDS } from "./RetryDelay.ts"
export {
  type ClientErrorCode,
  type MemberFault,
  type ProblemCode,
  SvcError,
  type SvcErrorFields
} from "./SvcError.ts"
export type { RequestOptions, WriteOptions } from "./Transport.ts"
export { type ReceivedWebhook, verifyWebhook, WEBHOOK_TOLERANCE_SECONDS } from "./VerifyWebhook.ts"
