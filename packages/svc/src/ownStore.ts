/* What a store of one's own is made of: its shape, the refusals of its operations, and what the domain has decided of them. */

export type { ApprovalSessionState, SubjectCredentials } from "@svc/domain/approval/ApprovalSessionState"
export { refusalOf, takenClaim } from "@svc/domain/engine/ChangeAdmission"
export { brokenInvariant, isSameHead } from "@svc/domain/engine/ChangeInvariant"
export type {
  AuthorizationState,
  MandateState,
  OpenReservation,
  StreamHead,
  StreamState
} from "@svc/domain/mandate/MandateState"
export { openReservationOf } from "@svc/domain/mandate/OpenReservation"
export type { SealedEvent } from "@svc/domain/mandate/SealedEvent"
export type { ApiKey, Organization } from "@svc/domain/organization/Organization"
export type { DueStream } from "@svc/domain/ports/DueLeases"
export {
  type EventFeedPage,
  type EventFeedQuery,
  FEED_START,
  type FeedEvent,
  PositionRefused
} from "@svc/domain/ports/EventFeed"
export {
  type Appended,
  type AuthorizationList,
  type AuthorizationListQuery,
  type ClaimHolder,
  type ClaimKind,
  type ClaimName,
  ClaimTaken,
  DUE_STREAMS_PER_LIST,
  type HeldClaim,
  type JournalQuery,
  type Loaded,
  type LoadedStream,
  type LoadQuery,
  type MandateList,
  type MandateListQuery,
  OutOfTime,
  Stale,
  StoreUnavailable,
  type StreamChange,
  type StreamReference,
  type UniqueClaim
} from "@svc/domain/ports/MandateStore"
export type { FoundApiKey } from "@svc/domain/ports/Organizations"
export type { KeptFor } from "@svc/domain/ports/StoreCleaning"
export { type EndedAttempts, EndpointLimitReached, type LeasedDelivery } from "@svc/domain/ports/WebhookStore"
export { deliveryIdOf } from "@svc/domain/webhook/DeliveryId"
export { deliveriesInTurn } from "@svc/domain/webhook/DeliveryTurns"
export { eventDeliveries } from "@svc/domain/webhook/EventDeliveries"
export { isKept, type KeptDeliveries, keptDeliveriesAfter } from "@svc/domain/webhook/KeptDeliveries"
export {
  afterReactivation,
  beginAttempt,
  isDue,
  isWorkerLost,
  pendingDelivery,
  type Spread,
  type StoredDelivery,
  type WebhookDeliveryState
} from "@svc/domain/webhook/WebhookDelivery"
export {
  type StoredEndpoint,
  type WebhookEndpointState,
  wants
} from "@svc/domain/webhook/WebhookEndpoint"
export type { Instant, Nanos } from "@svc/protocol/Timestamp"
export type { Promised, PromiseStore } from "./PromiseStore.ts"
export { storeFromPromises } from "./StoreFromPromises.ts"
