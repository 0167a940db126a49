export type { WebhookEvent } from "@svc/client/resources"
export { approveOnPage } from "@svc/testkit/ApproveOnPage"
export { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
export { makeSoftwarePasskey, type SoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
export {
  type Decider,
  type ExpectedRefusal,
  type Outcome,
  type Specification,
  specification
} from "@svc/testkit/Specification"
export type {
  CaseResult,
  ConformanceOptions,
  ConformanceReport,
  RegisteredOptions,
  TestRunner
} from "@svc/testkit/StoreConformance"
export type { PortName } from "@svc/testkit/store-contract/PortNames"
export { type StoreCall, type StoreFault, withFaults } from "./testkit/FaultyStore.ts"
export { type HostileRequest, hostileRequests } from "./testkit/HostileRequests.ts"
export type { CalendarDuration, CalendarOptions, ManualClock } from "./testkit/ManualClock.ts"
export { checkStore, type MakeStore, type StoreTime, storeContract } from "./testkit/StoreContract.ts"
export {
  type TestService,
  type TestServiceOptions,
  testService,
  type WebhookInbox
} from "./testkit/TestService.ts"
export type { Receive, ReceivedWebhook } from "./testkit/WebhookReceiver.ts"
