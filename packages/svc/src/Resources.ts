import type {
  ApprovalSession as ApprovalSessionSchema,
  CreateApprovalSessionBody
} from "@svc/protocol/ApprovalSession"
import type {
  Authorization as AuthorizationSchema,
  CancellationBody,
  CommitBody,
  CreateAuthorizationBody,
  RefundBody
} from "@svc/protocol/Authorization"
import type { JournalEvent as JournalEventSchema } from "@svc/protocol/Journal"
import type {
  CreateMandateBody,
  Mandate as MandateSchema,
  MandateStateName,
  PeriodEntry as PeriodEntrySchema,
  RevokeMandateBody
} from "@svc/protocol/Mandate"
import type { Passkey as PasskeySchema } from "@svc/protocol/Passkey"
import type {
  CreateWebhookEndpointBody,
  WebhookDelivery as WebhookDeliverySchema,
  WebhookEndpoint as WebhookEndpointSchema
} from "@svc/protocol/webhook/WebhookEndpoint"

/* The resources of the interface as they are in JSON: members are named as over HTTP, and instants are RFC 3339 texts. */

export type Mandate = (typeof MandateSchema)["Encoded"]
export type MandateState = (typeof MandateStateName)["Encoded"]
export type PeriodEntry = (typeof PeriodEntrySchema)["Encoded"]
export type ApprovalSession = (typeof ApprovalSessionSchema)["Encoded"]
export type Authorization = (typeof AuthorizationSchema)["Encoded"]
export type AuthorizationState = Authorization["state"]
export type JournalEvent = (typeof JournalEventSchema)["Encoded"]
export type Passkey = (typeof PasskeySchema)["Encoded"]
export type WebhookEndpoint = (typeof WebhookEndpointSchema)["Encoded"]
export type WebhookDelivery = (typeof WebhookDeliverySchema)["Encoded"]

export type CreateMandate = (typeof CreateMandateBody)["Encoded"]
export type RevokeMandate = (typeof RevokeMandateBody)["Encoded"]
export type CreateApprovalSession = (typeof CreateApprovalSessionBody)["Encoded"]
export type ProposeAuthorization = (typeof CreateAuthorizationBody)["Encoded"]
export type CommitAuthorization = (typeof CommitBody)["Encoded"]
export type CancelAuthorization = (typeof CancellationBody)["Encoded"]
export type ReportRefund = (typeof RefundBody)["Encoded"]
export type CreateWebhookEndpoint = (typeof CreateWebhookEndpointBody)["Encoded"]

/** A page of a list. */
export interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
  /** The cursor of the next page; null at the end. */
  readonly next_cursor: string | null
}
