import { assert } from "@effect/vitest"
import type { Organization } from "@svc/domain/organization/Organization"
import { EventFeed, FEED_START } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { createApprovalSession } from "@svc/domain/programs/ApprovalSessions"
import { authenticateApiKey } from "@svc/domain/programs/AuthenticateApiKey"
import {
  cancelAuthorization,
  commitAuthorization,
  listAuthorizations,
  proposeAuthorization,
  readAuthorization,
  reportRefund
} from "@svc/domain/programs/Authorizations"
import { admitBearer } from "@svc/domain/programs/ceremony/AdmitBearer"
import { approveMandate } from "@svc/domain/programs/ceremony/ApproveMandate"
import { beginCeremony } from "@svc/domain/programs/ceremony/BeginCeremony"
import { declineMandate } from "@svc/domain/programs/ceremony/DeclineMandate"
import { openApprovalPage } from "@svc/domain/programs/ceremony/OpenApprovalPage"
import { registerPasskey } from "@svc/domain/programs/ceremony/RegisterPasskey"
import { readEventFeed } from "@svc/domain/programs/EventFeed"
import { readContinuation, readEvidence } from "@svc/domain/programs/Evidence"
import {
  createMandate,
  listEvents,
  listMandates,
  listPeriods,
  readMandate,
  revokeMandate
} from "@svc/domain/programs/Mandates"
import { listPasskeys, retirePasskey } from "@svc/domain/programs/Passkeys"
import {
  listWebhookDeliveries,
  redeliverWebhook,
  testWebhookEndpoint
} from "@svc/domain/programs/WebhookDeliveries"
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  reactivateWebhookEndpoint,
  readWebhookEndpoint,
  rotateWebhookSecret
} from "@svc/domain/programs/WebhookEndpoints"
import { jsonPointer } from "@svc/protocol/json/JsonPointer"
import type { MemberFault } from "@svc/protocol/Problem"
import { formatInstant } from "@svc/protocol/Timestamp"
import { Cause, Effect, Exit, Layer, ManagedRuntime, Redacted } from "effect"
import * as fc from "fast-check"
import {
  HOSTILE_VALUES,
  type HostileValue,
  NOT_JSON_VALUES,
  WRONG_KEYS,
  WRONG_LIMITS,
  WRONG_NAMES
} from "./HostileValues.ts"
import { makeIdentityIssuer } from "./IdentityIssuer.ts"
import {
  cancelReport,
  commitReport,
  harnessOrganization,
  makeCaller,
  type ProgramPorts,
  proposalBody,
  recurringBody,
  refundReport
} from "./ProgramHarness.ts"
import { DAY, newIdentifier } from "./StoreFixtures.ts"

type Ports = ProgramPorts | StoragePorts | WebhookTransport

/** Where in an input a hostile value goes, those that are wrong there, and what the program must refuse them with. */
interface Site {
  readonly at: ReadonlyArray<string>
  readonly values: ReadonlyArray<HostileValue>
  readonly refusal: string
  /** Of a `ValidationFailed`: the member that one of its faults must be about. */
  readonly pointer?: string
}

/** A program with an input that it would accept. */
interface Call {
  readonly name: string
  readonly input: object
  readonly run: (input: never) => Effect.Effect<unknown, { readonly _tag: string }, Ports>
  readonly sites: ReadonlyArray<Site>
}

const defined = (values: ReadonlyArray<HostileValue>) => values.filter(({ name }) => name !== "undefined")

const REQUIRED_NAME = [...HOSTILE_VALUES, ...WRONG_NAMES]

const organizationSite: Site = {
  at: ["organization"],
  values: REQUIRED_NAME,
  refusal: "OrganizationUnknown"
}

const GRACE = "/organization/reportGraceSeconds"

const organizationSites: ReadonlyArray<Site> = [
  organizationSite,
  { at: ["organization", "id"], values: REQUIRED_NAME, refusal: "OrganizationUnknown" },
  { at: ["organization", "environment"], values: REQUIRED_NAME, refusal: "OrganizationUnknown" },
  {
    at: ["organization", "reportGraceSeconds"],
    values: HOSTILE_VALUES,
    refusal: "ValidationFailed",
    pointer: GRACE
  }
]

const keySite: Site = {
  at: ["idempotencyKey"],
  values: [...defined(HOSTILE_VALUES), ...WRONG_KEYS],
  refusal: "IdempotencyKeyInvalid"
}

const missingKeySite: Site = {
  at: ["idempotencyKey"],
  values: [
    { name: "undefined", make: () => undefined },
    { name: "empty text", make: () => "" }
  ],
  refusal: "IdempotencyKeyRequired"
}

const nameSite = (name: string): Site => ({ at: [name], values: REQUIRED_NAME, refusal: "NotFound" })

const cursorSite = (name: string): Site => ({
  at: [name],
  values: [...defined(HOSTILE_VALUES), ...WRONG_NAMES],
  refusal: "InvalidCursor"
})

const memberSite = (name: string, values: ReadonlyArray<HostileValue>): Site => ({
  at: [name],
  values,
  refusal: "ValidationFailed",
  pointer: `/${name}`
})

const limitSite = memberSite("limit", [...HOSTILE_VALUES, ...WRONG_LIMITS])

const FAR_INSTANT: HostileValue = { name: "instant of the year 33658", make: () => 10n ** 21n }

const fromSite = memberSite("from", [
  ...defined(HOSTILE_VALUES).filter(({ name }) => name !== "BigInt"),
  FAR_INSTANT
])

const SECRETS: ReadonlyArray<HostileValue> = [
  { name: "short secret", make: () => Redacted.make("short") },
  { name: "secret number", make: () => Redacted.make(5) },
  { name: "secret with a lone surrogate", make: () => Redacted.make(`${"a".repeat(42)}\ud800`) }
]

const tokenSite: Site = {
  at: ["token"],
  values: [...HOSTILE_VALUES, ...SECRETS],
  refusal: "ApprovalSessionClosed"
}

const cookieSite: Site = {
  at: ["cookie"],
  values: [...HOSTILE_VALUES, ...SECRETS],
  refusal: "ApprovalSessionBound"
}

const languageSite = memberSite("language", REQUIRED_NAME)

/** Every place in a body, the body itself included. */
const placesIn = (value: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> => [
  path,
  ...(typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, member]) => placesIn(member, [...path, name]))
    : [])
]

const bodySites = (body: unknown): ReadonlyArray<Site> =>
  placesIn(body).map((path) => ({
    at: ["body", ...path],
    values: NOT_JSON_VALUES,
    refusal: "ValidationFailed",
    pointer: jsonPointer(path)
  }))

const KEY = "hostile-call"

/** What the calls are about. */
interface World {
  readonly organization: Organization
  readonly mandates: ReadonlyArray<string>
  readonly endpoint: string
  readonly calls: ReadonlyArray<Call>
}

const writeCalls = (
  organization: Organization,
  ids: {
    readonly pending: string
    readonly active: string
    readonly authorization: string
    readonly endpoint: string
    readonly delivery: string
  },
  assertion: string
): ReadonlyArray<Call> => {
  const write = (
    run: Call["run"],
    name: string,
    body: object,
    path: Readonly<Record<string, string>>
  ): Call => ({
    name,
    run,
    input: { organization, idempotencyKey: KEY, body, ...path },
    sites: [
      ...organizationSites,
      keySite,
      missingKeySite,
      ...bodySites(body),
      ...Object.keys(path).map(nameSite)
    ]
  })
  /** A write without members, which may do without a key. */
  const bareWrite = (run: Call["run"], name: string, path: Readonly<Record<string, string>>): Call => {
    const call = write(run, name, {}, path)
    return { ...call, sites: call.sites.filter((site) => site !== missingKeySite) }
  }
  const authorization = { authorizationId: ids.authorization }
  const endpoint = { endpointId: ids.endpoint }
  const session = {
    identity_assertion: assertion,
    return_url: "https://shop.example/return",
    return_state: "state of sixteen characters"
  }
  const hook = { url: "https://hooks.example/svc", event_types: ["mandate.created"], description: "d" }
  return [
    write(createMandate, "createMandate", recurringBody(), {}),
    write(revokeMandate, "revokeMandate", { reason: "no longer wanted" }, { mandateId: ids.active }),
    write(createApprovalSession, "createApprovalSession", session, { mandateId: ids.pending }),
    write(proposeAuthorization, "proposeAuthorization", proposalBody(2), { mandateId: ids.active }),
    write(commitAuthorization, "commitAuthorization", commitReport(1), authorization),
    write(cancelAuthorization, "cancelAuthorization", cancelReport(), authorization),
    write(reportRefund, "reportRefund", refundReport(10), authorization),
    write(createWebhookEndpoint, "createWebhookEndpoint", hook, {}),
    bareWrite(deleteWebhookEndpoint, "deleteWebhookEndpoint", endpoint),
    bareWrite(reactivateWebhookEndpoint, "reactivateWebhookEndpoint", endpoint),
    bareWrite(rotateWebhookSecret, "rotateWebhookSecret", endpoint),
    bareWrite(testWebhookEndpoint, "testWebhookEndpoint", endpoint),
    bareWrite(redeliverWebhook, "redeliverWebhook", { ...endpoint, deliveryId: ids.delivery })
  ]
}

const readCalls = (
  organization: string,
  ids: { readonly active: string; readonly authorization: string; readonly endpoint: string }
): ReadonlyArray<Call> => {
  const read = (
    run: Call["run"],
    name: string,
    path: Readonly<Record<string, string>>,
    rest: object = {},
    sites: ReadonlyArray<Site> = []
  ): Call => ({
    name,
    run,
    input: { organization, ...path, ...rest },
    sites: [organizationSite, ...Object.keys(path).map(nameSite), ...sites]
  })
  const page = { limit: 10 }
  const mandate = { mandateId: ids.active }
  const state = memberSite("state", defined(REQUIRED_NAME))
  const subject = memberSite("subjectReference", defined(HOSTILE_VALUES))
  const subjectPath: Site = { ...nameSite("subjectReference"), values: HOSTILE_VALUES }
  return [
    read(readMandate, "readMandate", mandate),
    read(listMandates, "listMandates", {}, page, [limitSite, cursorSite("cursor"), state, subject]),
    read(listPeriods, "listPeriods", mandate, { ...page, from: 0n }, [limitSite, fromSite]),
    read(listEvents, "listEvents", mandate, page, [limitSite, cursorSite("cursor")]),
    read(readEvidence, "readEvidence", mandate),
    read(readContinuation, "readContinuation", mandate, { afterSeq: 1 }, [
      memberSite("afterSeq", HOSTILE_VALUES)
    ]),
    read(readAuthorization, "readAuthorization", { authorizationId: ids.authorization }),
    read(listAuthorizations, "listAuthorizations", mandate, page, [limitSite, cursorSite("cursor"), state]),
    read(readEventFeed, "readEventFeed", {}, page, [limitSite, cursorSite("after")]),
    read(listWebhookEndpoints, "listWebhookEndpoints", {}, page, [limitSite, cursorSite("cursor")]),
    read(readWebhookEndpoint, "readWebhookEndpoint", { endpointId: ids.endpoint }),
    read(listWebhookDeliveries, "listWebhookDeliveries", { endpointId: ids.endpoint }, page, [
      limitSite,
      cursorSite("cursor")
    ]),
    read(listPasskeys, "listPasskeys", {}, { subjectReference: "user_8f2", ...page }, [
      subjectPath,
      limitSite,
      cursorSite("cursor")
    ]),
    read(
      retirePasskey,
      "retirePasskey",
      { passkeyId: "psk_01kbcd2e3f4g5h6j7k8m9npqrs" },
      { subjectReference: "user_8f2" },
      [subjectPath]
    )
  ]
}

const ceremonyCalls = (bearer: {
  readonly token: Redacted.Redacted<string>
  readonly cookie: Redacted.Redacted<string>
}): ReadonlyArray<Call> => {
  const passkeyBody = {
    id: "AAAA",
    rawId: "AAAA",
    type: "public-key",
    response: { clientDataJSON: "AAAA", authenticatorData: "AAAA", signature: "AAAA" }
  }
  const registration = {
    ...passkeyBody,
    response: { clientDataJSON: "AAAA", attestationObject: "AAAA" }
  }
  const act = (run: Call["run"], name: string, rest: object, sites: ReadonlyArray<Site>): Call => ({
    name,
    run,
    input: { ...bearer, ...rest },
    sites: [tokenSite, ...sites]
  })
  return [
    act(openApprovalPage, "openApprovalPage", { language: "en" }, [languageSite]),
    act(beginCeremony, "beginCeremony", { language: "en" }, [cookieSite, languageSite]),
    act(admitBearer, "admitBearer", { cookieOf: () => bearer.cookie, ceremony: false }, []),
    act(registerPasskey, "registerPasskey", { body: registration }, [cookieSite, ...bodySites(registration)]),
    act(approveMandate, "approveMandate", { body: passkeyBody }, [cookieSite, ...bodySites(passkeyBody)]),
    act(declineMandate, "declineMandate", {}, [cookieSite])
  ]
}

const authentication: Call = {
  name: "authenticateApiKey",
  input: { key: Redacted.make("") },
  run: ({ key }: { readonly key: Redacted.Redacted<string> }) => authenticateApiKey(key),
  sites: [{ at: ["key"], values: [...HOSTILE_VALUES, ...SECRETS], refusal: "ApiKeyInvalid" }]
}

/** Makes one of each thing that a call can be about. */
const makeWorld = Effect.fnUntraced(function* (): Effect.fn.Return<World, unknown, Ports> {
  const issuer = makeIdentityIssuer({ issuer: "https://id.example", audience: "svc" })
  const organization = harnessOrganization({
    id: newIdentifier("org_"),
    identity: {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms: ["ES256"],
      keys: { jwks: issuer.publicJwks }
    }
  })
  const organizations = yield* Organizations
  yield* organizations.put(organization)
  const store = yield* MandateStore
  const caller = makeCaller(organization)
  const { now } = yield* store.load({ organization: organization.id })
  const body = recurringBody({}, { window: { ends_at: formatInstant(now + 30n * DAY) } })
  const { resource: hook } = yield* createWebhookEndpoint(caller.write({ url: "https://hooks.example/svc" }))
  const pending = (yield* caller.create(body)).resource.id
  const active = (yield* caller.create(body)).resource.id
  yield* caller.approve(active)
  const authorization = (yield* caller.propose(active, proposalBody(1))).resource.id
  const assertionNow = () => Effect.promise(() => issuer.assertion({ subject: "user_8f2", now }))
  const session = yield* createApprovalSession({
    ...caller.write({
      identity_assertion: yield* assertionNow(),
      return_url: "https://shop.example/return",
      return_state: "state of sixteen characters"
    }),
    mandateId: pending
  })
  const token = Redacted.make(session.resource.approval_url?.split("/").at(-1) ?? "")
  const { bind } = yield* beginCeremony({ token, cookie: undefined, language: "en" })
  const [delivery] = (yield* listWebhookDeliveries({
    organization: organization.id,
    endpointId: hook.id,
    limit: 1
  })).data
  const ids = { pending, active, authorization, endpoint: hook.id, delivery: delivery?.id ?? "" }
  return {
    organization,
    mandates: [pending, active],
    endpoint: hook.id,
    calls: [
      ...writeCalls(organization, ids, yield* assertionNow()),
      ...readCalls(organization.id, ids),
      ...ceremonyCalls({ token, cookie: bind?.cookie ?? token }),
      authentication
    ]
  }
})

/** Everything that is stored of the organization, and who holds the idempotency key of the calls. */
const stored = Effect.fnUntraced(function* ({ endpoint, mandates, organization: { id } }: World) {
  const store = yield* MandateStore
  const feed = yield* EventFeed
  const webhooks = yield* WebhookStore
  const streams: Array<unknown> = []
  for (const mandate of mandates) {
    const { stream } = yield* store.load({ organization: id, stream: { mandate }, approval: true })
    streams.push(stream)
  }
  const { held } = yield* store.load({
    organization: id,
    claims: [{ kind: "idempotency_key", name: KEY }]
  })
  const { events } = yield* feed.read({ organization: id, after: FEED_START, limit: 1000, bytes: 10_000_000 })
  const { mandates: listed } = yield* store.listMandates({ organization: id, limit: 100 })
  const { deliveries } = yield* webhooks.listDeliveries({ organization: id, endpoint, limit: 1000 })
  return { streams, held, events, listed, deliveries, endpoints: yield* webhooks.listEndpoints(id) }
})

/** The input with another value somewhere in it. */
const withValueAt = (input: unknown, at: ReadonlyArray<string>, value: unknown): unknown => {
  const [name, ...rest] = at
  if (name === undefined) return value
  const member = withValueAt((input as Readonly<Record<string, unknown>>)[name], rest, value)
  return Array.isArray(input)
    ? input.map((entry: unknown, index) => (String(index) === name ? member : entry))
    : { ...(input as object), [name]: member }
}

/** Whether one pointer leads to the place of the other, or to one around or in it. */
const concerns = (pointer: string, other: string): boolean =>
  `${pointer}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${pointer}/`)

/** Calls a program, and asserts how it refuses and that nothing has changed. */
const checkCall = Effect.fnUntraced(function* (
  world: World,
  call: Call,
  site: Site,
  { make }: HostileValue,
  before: unknown
) {
  const input = withValueAt(call.input, site.at, make())
  const exit = yield* Effect.exit(Effect.suspend(() => call.run(input as never)))
  if (Exit.isSuccess(exit)) return assert.fail("it was not refused")
  const failure = Cause.findErrorOption(exit.cause)
  if (failure._tag === "None") return assert.fail(`it died: ${Cause.pretty(exit.cause)}`)
  assert.strictEqual(failure.value._tag, site.refusal)
  if (site.pointer !== undefined) {
    const { errors } = failure.value as unknown as { readonly errors: ReadonlyArray<MemberFault> }
    const { pointer } = site
    assert.isTrue(
      errors.some((fault) => concerns(fault.pointer, pointer)),
      `no fault at ${pointer}: ${JSON.stringify(errors)}`
    )
  }
  assert.deepStrictEqual(yield* stored(world), before)
})

/** A receiver that takes any target and gets nothing. */
const silentTransport = Layer.succeed(
  WebhookTransport,
  WebhookTransport.of({
    check: () => Effect.void,
    deliver: () => Effect.die("nothing is delivered here")
  })
)

const choiceOf = ({ calls }: World) => {
  const choices = calls.flatMap((call) => [...call.sites.map((site) => ({ call, site }))])
  return fc
    .constantFrom(...choices)
    .chain(({ call, site }) => fc.constantFrom(...site.values).map((value) => ({ call, site, value })))
    .map((choice) => ({
      ...choice,
      toString: () => `${choice.call.name} with ${choice.value.name} at ${choice.site.at.join(".")}`
    }))
}

/**
 * Calls every program of the domain with values at every place of its input that are wrong there, and asserts that it refuses
 * each with the error that it declares for it, and that nothing is stored.
 */
export const checkHostileCalls = async (options: {
  readonly ports: Layer.Layer<Exclude<Ports, WebhookTransport>, unknown>
  readonly seed: number
  readonly numRuns: number
  readonly path?: string
}): Promise<void> => {
  const runtime = ManagedRuntime.make(Layer.merge(options.ports, silentTransport))
  try {
    const world = await runtime.runPromise(makeWorld())
    const before = await runtime.runPromise(stored(world))
    const property = fc.asyncProperty(choiceOf(world), ({ call, site, value }) =>
      runtime.runPromise(checkCall(world, call, site, value, before))
    )
    const { ports: _, ...parameters } = options
    await fc.assert(property, { ...parameters, endOnFailure: true })
  } finally {
    await runtime.dispose()
  }
}
