export {
  type Calls,
  type ClientErrorCode,
  type CommitmentPair,
  commitmentOf,
  createCommitment,
  type Execution,
  type ExecutionOptions,
  type ExecutionReport,
  type MemberFault,
  type PageQuery,
  type ProblemCode,
  type ProposalOptions,
  type Reconciliation,
  type RequestOptions,
  type Run,
  type RunOutcome,
  type StoredOpening,
  SvcError,
  type UncertainBecause,
  verifyWebhook,
  type WriteOptions
} from "@svc/client"
export type * from "@svc/client/resources"
export {
  type ExternalSigner,
  type PublicP256Jwk,
  type SignRequest,
  signatureFromDer
} from "@svc/signer/ExternalSigner"
export type { HostIdentity, HostRefusal, Identify } from "./HostIdentity.ts"
export type { OrganizationFace } from "./OrganizationFace.ts"
export type { OrganizationSettings } from "./OrganizationSettings.ts"
export { createService, newOrganizationId, type Service } from "./Service.ts"
export type { ServiceLimits } from "./ServiceLimits.ts"
export type { AuthenticatedCaller, LogEntry, ServiceOptions } from "./ServiceOptions.ts"
export type { Store } from "./Store.ts"
