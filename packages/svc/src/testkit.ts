export type { WebhookEvent } from "@svc/client/resources"
export { approveOnPage } from "@svc/testkit/ApproveOnPage"
export { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
export { makeSoftwarePasskey, type SoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
export type { CalendarDuration, CalendarOptions, ManualClock } from "./testkit/ManualClock.ts"
export {
  type TestService,
  type TestServiceOptions,
  testService,
  type WebhookInbox
} from "./testkit/TestService.ts"
export type { Receive, ReceivedWebhook } from "./testkit/WebhookReceiver.ts"
