import { assert, describe, it } from "@effect/vitest"
import {
  ApprovalSession,
  ApprovalSessionStateName,
  CreateApprovalSessionBody
} from "@svc/protocol/ApprovalSession"
import {
  Authorization,
  AuthorizationStateName,
  CancellationBody,
  CancellationReason,
  CommitBody,
  DenyCode,
  IndeterminateCode,
  Reason,
  RefundBody
} from "@svc/protocol/Authorization"
import { Api } from "@svc/protocol/api/Api"
import { RouteRule } from "@svc/protocol/api/RouteRule"
import { EvidenceEnvelope } from "@svc/protocol/evidence/EvidenceEnvelope"
import { JsonWebKeyEs256 } from "@svc/protocol/evidence/KeySet"
import { JournalEvent, JournalEventType } from "@svc/protocol/Journal"
import {
  CreateMandateBody,
  Mandate,
  MandateStateName,
  Period,
  PeriodEntry,
  Policy
} from "@svc/protocol/Mandate"
import { Passkey } from "@svc/protocol/Passkey"
import { PROBLEM_CODES, PROBLEMS, Problem } from "@svc/protocol/Problem"
import { WebhookAttempt, WebhookDelivery, WebhookEndpoint } from "@svc/protocol/webhook/WebhookEndpoint"
import { Context } from "effect"
import type { HttpApiGroup } from "effect/http-api"
import { markdownFiles, partFiles } from "./Documents.ts"

const index = markdownFiles().find(({ path }) => path === "docs/interface/README.md")?.text ?? ""
const parts = partFiles()
const part = (number: string): string => parts.get(number)?.text ?? ""

const endpoints = (Object.values(Api.groups) as ReadonlyArray<unknown> as ReadonlyArray<HttpApiGroup.Top>)
  .flatMap((group) => Object.values(group.endpoints))
  .map(({ annotations, method, path }) => ({
    route: `${method} ${path.replaceAll(/:(\w+)/gu, "{$1}")}`,
    rule: Context.get(annotations, RouteRule)
  }))

const KEYS = { none: "", optional: "optional", required: "required" } as const

describe("docs/interface", () => {
  it("lists every endpoint with its success, scope and idempotency key", () => {
    const [, table = ""] = index.split("\n## Endpoints\n")
    const rows = table.matchAll(
      /^\| ((?:GET|POST|PUT|DELETE) [^|]+?) \| (\d{3})[^|]* \| ([^|]+?) \| ([^|]*?) ?\|/gmu
    )
    const documented = [...rows].flatMap(([, routes = "", status, scope, key]) =>
      routes.split(", ").map((route) => `${route} ${status} ${scope} ${key}`.trim())
    )
    const declared = endpoints.map(({ route, rule }) => {
      const status = route.startsWith("POST") ? 201 : route.startsWith("DELETE") ? 204 : 200
      return `${route} ${status} ${rule.scope ?? "-"} ${KEYS[rule.idempotencyKey]}`.trim()
    })
    const documents = ["/openapi.json", "/docs", "/problems/{code}"].map((path) => `GET ${path} 200 -`)
    assert.sameMembers(documented, [...declared, ...documents])
  })

  it("lists every problem with its status, and whether it is retryable", () => {
    const rows = part("2").matchAll(/^\| (\d{3}) \| ([^|]+) \|/gmu)
    const documented = [...rows].flatMap(([, status, cell = ""]) =>
      [...cell.matchAll(/`(\w+)`( ✓)?/gu)].map(
        ([, code, isRetryable]) => `${status} ${code}${isRetryable ?? ""}`
      )
    )
    assert.sameMembers(
      documented,
      PROBLEM_CODES.map((code) => `${PROBLEMS[code].status} ${code}${PROBLEMS[code].retryable ? " ✓" : ""}`)
    )
  })

  const named: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    ["state of a mandate", "4", MandateStateName.literals],
    ["state of an authorization", "5", AuthorizationStateName.literals],
    ["reason of a decision", "5", [...DenyCode.literals, ...IndeterminateCode.literals]],
    ["reason of a cancellation", "5", CancellationReason.literals],
    ["state of an approval session", "6", ApprovalSessionStateName.literals]
  ]
  for (const [what, number, names] of named) {
    it(`names every ${what}`, () =>
      assert.deepStrictEqual(
        names.filter((name) => !part(number).includes(`\`${name}\``)),
        []
      ))
  }

  const members: ReadonlyArray<readonly [string, string, object]> = [
    ["mandate", "4", { ...Mandate.fields, ...CreateMandateBody.fields, ...Policy.fields, ...Period.fields }],
    ["period", "4", PeriodEntry.fields],
    ["authorization", "5", { ...Authorization.fields, ...CommitBody.fields, ...CancellationBody.fields }],
    ["refund", "5", RefundBody.fields],
    ["reason", "5", Reason.fields],
    ["approval session", "6", { ...ApprovalSession.fields, ...CreateApprovalSessionBody.fields }],
    ["passkey", "6", Passkey.fields],
    ["event", "7", JournalEvent.fields],
    ["evidence envelope", "7", EvidenceEnvelope.fields],
    ["signing key", "7", JsonWebKeyEs256.fields],
    ["webhook endpoint", "8", WebhookEndpoint.fields],
    ["webhook delivery", "8", { ...WebhookDelivery.fields, ...WebhookAttempt.fields }],
    ["problem", "2", Problem.fields]
  ]
  for (const [what, number, fields] of members) {
    it(`names every member of a ${what}`, () => {
      const text = part(number)
      const isNamed = (name: string) => new RegExp(`[\`".]${name}[\`"]`, "u").test(text)
      assert.deepStrictEqual(
        Object.keys(fields).filter((name) => !isNamed(name)),
        []
      )
    })
  }

  it("says what each event holds, by its type", () => {
    const [, table = ""] = part("7").split("\n### Types and data\n")
    const rows = table.split("\n\n")[0]!.matchAll(/^\| (`[^|]+) \|/gmu)
    const documented = [...rows].flatMap(([, cell = ""]) => {
      const types = [...cell.matchAll(/`([a-z_.]+)`/gu)].map(([, type = ""]) => type)
      return types.map((type) => (type.startsWith(".") ? `authorization${type}` : type))
    })
    assert.deepStrictEqual(documented, [...JournalEventType.literals])
  })
})
