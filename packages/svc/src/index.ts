export { createCommitment } from "./Commitment.ts"
export type { HostIdentity, Identify } from "./HostIdentity.ts"
export type {
  EventPage,
  FeedOptions,
  ListOptions,
  OrganizationFace,
  WriteOptions
} from "./OrganizationFace.ts"
export type * from "./Resources.ts"
export { createService, newOrganizationId, type Service } from "./Service.ts"
export type {
  AuthenticatedCaller,
  LogEntry,
  OrganizationSettings,
  ServiceOptions
} from "./ServiceOptions.ts"
export type { Store } from "./Store.ts"
export { SvcError } from "./SvcError.ts"
