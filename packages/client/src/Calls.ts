/**
 * What typed calls share that do not go over HTTP: `svc` makes those of an embedded service with it, so that code which takes
 * a {@link Calls} runs against either.
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
export { withCommitment } from "./ApiCalls.ts"
export { BACKOFF_DEFAULT, type Calls, type ExecutingCalls, withExecution } from "./Client.ts"
export { makeBegunExecutions } from "./Execution.ts"
export { makeListing } from "./Listing.ts"
export { withRetries } from "./Retries.ts"
export { abortedBeforehand } from "./SvcError.ts"
export { isThenable } from "./Thenable.ts"
export { TIMER_MAX_MILLISECONDS, TimeIsOver, withTimeLimit } from "./TimeLimit.ts"
export { checkLimits, jsonText, type RequestOptions, type WriteOptions } from "./Transport.ts"
