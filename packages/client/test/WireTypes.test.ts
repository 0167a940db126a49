import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import type * as Session from "@svc/protocol/ApprovalSession"
import type * as Authorizations from "@svc/protocol/Authorization"
import type * as Envelope from "@svc/protocol/evidence/EvidenceEnvelope"
import type * as Keys from "@svc/protocol/evidence/KeySet"
import type * as Journal from "@svc/protocol/Journal"
import type * as Mandates from "@svc/protocol/Mandate"
import type * as Passkeys from "@svc/protocol/Passkey"
import type * as Problems from "@svc/protocol/Problem"
import type { ListPage } from "@svc/protocol/request/ListPage"
import type * as Webhooks from "@svc/protocol/webhook/WebhookEndpoint"
import type * as client from "../src/index.ts"

/** Members in place of the interfaces and intersections that they come from; JSON of any shape is left out. */
type Plain<A> = A extends string | number | boolean | null | undefined
  ? A
  : A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Plain<Item>>
    : string extends keyof A
      ? { readonly [name: string]: A[keyof A] extends string ? string : "JSON" }
      : { [Name in keyof A]: Plain<A[Name]> }

type Same<A, B> =
  (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false

/** What goes over the wire, where a schema gives its program a type of its own for it. */
type Wire<S extends { readonly Encoded: unknown }> = S["Encoded"]

type CreateMandate = Wire<typeof Mandates.CreateMandateBody>
type Mandate = Wire<typeof Mandates.Mandate>
type Authorization = Wire<typeof Authorizations.Authorization>
type FeedEvent = Wire<typeof Journal.FeedEvent>
type Body = Wire<typeof Webhooks.CreateWebhookEndpointBody>
type Delivery = Wire<typeof Webhooks.WebhookDelivery>

/** By name, whether a type is that of the protocol's schema: `true` does not compile where a member differs. */
interface Compared {
  readonly ApprovalSession: Same<client.ApprovalSession, Wire<typeof Session.ApprovalSession>>
  readonly ApprovalSessionInput: Same<
    client.ApprovalSessionInput,
    Wire<typeof Session.CreateApprovalSessionBody>
  >
  readonly ApprovalSessionState: Same<client.ApprovalSessionState, Session.ApprovalSessionStateName>
  readonly AttributeRule: Same<client.AttributeRule, Mandates.AttributeRule>
  readonly Authorization: Same<client.Authorization, Authorization>
  readonly AuthorizationState: Same<client.AuthorizationState, Authorizations.AuthorizationStateName>
  readonly BudgetPeriod: Same<client.BudgetPeriod, Wire<typeof Mandates.PeriodEntry>>
  readonly CancellationInput: Same<client.CancellationInput, Wire<typeof Authorizations.CancellationBody>>
  readonly CancellationReason: Same<client.CancellationReason, Authorizations.CancellationBody["reason"]>
  readonly CommitInput: Same<client.CommitInput, Wire<typeof Authorizations.CommitBody>>
  readonly CommitReport: Same<client.CommitReport, Authorizations.CommitReport>
  readonly Decision: Same<client.Decision, Authorizations.Decision>
  readonly EventType: Same<client.EventType, Journal.JournalEventType>
  readonly EvidenceContinuation: Same<client.EvidenceContinuation, Wire<typeof Envelope.EvidenceContinuation>>
  readonly EvidenceEnvelope: Same<client.EvidenceEnvelope, Wire<typeof Envelope.EvidenceEnvelope>>
  readonly ExecutionDisposition: Same<
    client.ExecutionDisposition,
    Authorizations.CancellationBody["execution_disposition"]
  >
  readonly FeedEvent: Same<client.FeedEvent, FeedEvent>
  readonly FirstPeriod: Same<client.FirstPeriod, Mandates.Period["first_period"]>
  readonly JournalEvent: Same<client.JournalEvent, Wire<typeof Journal.JournalEvent>>
  readonly KeySet: Same<client.KeySet, Wire<typeof Keys.KeySet>>
  readonly Mandate: Same<client.Mandate, Mandate>
  readonly MandateInput: Same<client.MandateInput, CreateMandate>
  readonly MandateKind: Same<client.MandateKind, Mandates.MandateKind>
  readonly MandateState: Same<client.MandateState, Mandates.MandateStateName>
  readonly MemberFault: Same<client.MemberFault, Problems.MemberFault>
  readonly Page: Same<client.Page<Mandate>, ListPage<Mandate>>
  readonly Passkey: Same<client.Passkey, Wire<typeof Passkeys.Passkey>>
  readonly Period: Same<client.Period, Mandates.Period>
  readonly PeriodAlignment: Same<client.PeriodAlignment, Mandates.Period["alignment"]>
  readonly PeriodInput: Same<client.PeriodInput, Mandates.PeriodInput>
  readonly PeriodUnit: Same<client.PeriodUnit, Mandates.Period["unit"]>
  readonly PeriodUsage: Same<client.PeriodUsage, Mandates.PeriodUsage>
  readonly Policy: Same<client.Policy, Mandate["policy"]>
  readonly PolicyInput: Same<client.PolicyInput, CreateMandate["policy"]>
  readonly ProblemCode: Same<client.ProblemCode, Problems.ProblemCode>
  readonly ProposalInput: Same<client.ProposalInput, Wire<typeof Authorizations.CreateAuthorizationBody>>
  readonly ProposedAction: Same<client.ProposedAction, Authorization["proposed_action"]>
  readonly Reason: Same<client.Reason, Authorizations.Reason>
  readonly ReasonCode: Same<client.ReasonCode, Authorizations.Reason["code"]>
  readonly RefundInput: Same<client.RefundInput, Wire<typeof Authorizations.RefundBody>>
  readonly RevocationInput: Same<client.RevocationInput, Wire<typeof Mandates.RevokeMandateBody>>
  readonly SigningKey: Same<client.SigningKey, Keys.JsonWebKeyEs256>
  readonly Usage: Same<client.Usage, Mandates.Usage>
  readonly WebhookAttempt: Same<client.WebhookAttempt, Delivery["attempts"][number]>
  readonly WebhookDelivery: Same<client.WebhookDelivery, Delivery>
  readonly WebhookEndpoint: Same<client.WebhookEndpoint, Wire<typeof Webhooks.WebhookEndpoint>>
  readonly WebhookEndpointInput: Same<client.WebhookEndpointInput, Body>
  readonly Window: Same<client.Window, Mandates.Window>
  readonly WindowInput: Same<client.WindowInput, CreateMandate["window"]>
}

const SAME: { readonly [Name in keyof Compared]: true & Compared[Name] } = {
  ApprovalSession: true,
  ApprovalSessionInput: true,
  ApprovalSessionState: true,
  AttributeRule: true,
  Authorization: true,
  AuthorizationState: true,
  BudgetPeriod: true,
  CancellationInput: true,
  CancellationReason: true,
  CommitInput: true,
  CommitReport: true,
  Decision: true,
  EventType: true,
  EvidenceContinuation: true,
  EvidenceEnvelope: true,
  ExecutionDisposition: true,
  FeedEvent: true,
  FirstPeriod: true,
  JournalEvent: true,
  KeySet: true,
  Mandate: true,
  MandateInput: true,
  MandateKind: true,
  MandateState: true,
  MemberFault: true,
  Page: true,
  Passkey: true,
  Period: true,
  PeriodAlignment: true,
  PeriodInput: true,
  PeriodUnit: true,
  PeriodUsage: true,
  Policy: true,
  PolicyInput: true,
  ProblemCode: true,
  ProposalInput: true,
  ProposedAction: true,
  Reason: true,
  ReasonCode: true,
  RefundInput: true,
  RevocationInput: true,
  SigningKey: true,
  Usage: true,
  WebhookAttempt: true,
  WebhookDelivery: true,
  WebhookEndpoint: true,
  WebhookEndpointInput: true,
  Window: true,
  WindowInput: true
}

/** Types that no schema of the protocol has: queries, pages that are written out in a route, JSON, the body of a webhook. */
const WITHOUT_SCHEMA = [
  "AuthorizationListQuery",
  "BudgetPeriods",
  "FeedPage",
  "FeedQuery",
  "Json",
  "MandateListQuery",
  "PeriodsQuery",
  "WebhookEvent"
]

const exportedFrom = (file: string): ReadonlyArray<string> => {
  const text = readFileSync(new URL(`../src/${file}.ts`, import.meta.url), "utf8")
  return [...text.matchAll(/^export (?:interface|type) (\w+)/gmu)].map(([, name = ""]) => name)
}

describe("the types of the client", () => {
  it("are those of the protocol's schemas, each compared by the compiler", () => {
    const declared = ["Authorization", "Event", "Evidence", "Mandate", "Passkey", "Webhook"].flatMap(
      exportedFrom
    )
    assert.isAbove(declared.length, 40)
    const compared = [...Object.keys(SAME), ...WITHOUT_SCHEMA]
    assert.sameMembers([...declared, "MemberFault", "Page", "ProblemCode"], compared)
  })
})
