export {
  type ExternalSigner,
  type PublicP256Jwk,
  type SignRequest,
  signatureFromDer
} from "@svc/signer/ExternalSigner"
export { createCommitment } from "./Commitment.ts"
export type { HostIdentity, Identify } from "./HostIdentity.ts"
export type {
  EventPage,
  FeedOptions,
  ListOptions,
  OrganizationFace,
  WriteOptions
} from "./OrganizationFace.ts"
export type { OrganizationSettings } from "./OrganizationSettings.ts"
export type * from "./Resources.ts"
export { createService, newOrganizationId, type Service } from "./Service.ts"
export type { ServiceLimits } from "./ServiceLimits.ts"
export type { AuthenticatedCaller, LogEntry, ServiceOptions } from "./ServiceOptions.ts"
export type { Store } from "./Store.ts"
export { SvcError } from "./SvcError.ts"
