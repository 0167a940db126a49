import { randomBytes } from "node:crypto"
import { apiKeyRecord, formatApiKey } from "@svc/domain/organization/ApiKey"
import type { ApiKeyScope, Organization } from "@svc/domain/organization/Organization"
import { MandateStore, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import type { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { WebhookWakeUp } from "@svc/domain/workers/WebhookWorker"
import { workerLayer } from "@svc/domain/workers/Worker"
import * as ApiServer from "@svc/http-server/api/ApiServer"
import * as ApprovalServer from "@svc/http-server/approval/ApprovalServer"
import * as RateLimit from "@svc/http-server/gate/RateLimit"
import { NO_PROXIES } from "@svc/http-server/http/ClientAddress"
import { type Asking, type House, makeBrowser } from "@svc/http-server/test/ApprovalVisitor"
import { assertDocumented } from "@svc/http-server/test/DocumentedAnswer"
import { ask, type RawAnswer } from "@svc/http-server/test/RawExchange"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf, OPENING_BYTES } from "@svc/protocol/evidence/Commitment"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { formatInstant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { type AssertionRequest, makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { Clock, Console, Context, Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import type { ServerConfig } from "../src/config/Config.ts"
import type { StoreSetting } from "../src/config/StoreSetting.ts"
import { portsLayer } from "../src/start/CompositionRoot.ts"
import { type Instruments, NO_INSTRUMENTS } from "../src/start/Instruments.ts"
import * as JsonLog from "../src/start/JsonLog.ts"
import type { StoreOptions } from "../src/start/StoreLayer.ts"

export const API_BASE_URL = "https://api.example"
export const APPROVAL_ORIGIN = "https://approve.example"
export const RETURN_ORIGIN = "https://shop.example"
export const RETURN_URL = `${RETURN_ORIGIN}/return?order=7`
export const SUBJECT = "user_8f2"

const MASTER_KEY_BYTES = 32
const DAY = 86_400n * NANOS_PER_SECOND

/** What the next loads of the store do instead of answering. */
export type PlannedFault = "unavailable" | "defect" | undefined

export interface ServiceOptions {
  /** A tracer, for instance. */
  readonly observing?: Layer.Layer<never>
  /** What observes the service. Default: nothing. */
  readonly instruments?: Instruments
  /** Default: memory. */
  readonly store?: StoreSetting
  /** Default: {@link APPROVAL_ORIGIN}. */
  readonly approvalOrigin?: string
  /** Default: one that the system chooses. */
  readonly approvalPort?: number
  /** Default: `require`. */
  readonly migrations?: StoreOptions["migrations"]
  /** Default: one of its own, as no two services on one store have. */
  readonly masterKey?: Uint8Array<ArrayBuffer>
  /** Whether webhooks may go to this machine, over `http` too. Default true. */
  readonly webhookLoopback?: boolean
  /** In place of the transport that the settings give. */
  readonly webhookTransport?: Layer.Layer<WebhookTransport>
  /** Default: hints of its own, as a process has. */
  readonly wakeUp?: WebhookWakeUpService
  /** Gives the service a worker, which stands on this too: on a clock of its own, for instance. Default: no worker. */
  readonly working?: Layer.Layer<never>
}

export type WebhookWakeUpService = (typeof WebhookWakeUp)["Service"]

const configOf = (
  masterKey: Uint8Array,
  { approvalOrigin = APPROVAL_ORIGIN, store = "memory", webhookLoopback = true }: ServiceOptions
): ServerConfig => ({
  environment: "test",
  store,
  host: undefined,
  port: 0,
  approvalPort: 0,
  baseUrl: API_BASE_URL,
  approvalBaseUrl: approvalOrigin,
  rpId: new URL(approvalOrigin).hostname,
  masterKey: Redacted.make(masterKey, { label: "master key" }),
  masterKeyPrevious: undefined,
  rateLimit: "off",
  trustedProxies: NO_PROXIES,
  webhookLoopback,
  webhookRetentionDays: 30,
  assertionRetentionDays: 1,
  logLevel: "All"
})

/** What happened to the store: one entry for each write that was recorded. */
export interface StoreWatch {
  readonly writes: Array<string>
  fault: PlannedFault
}

/** Stands before the storage ports: keeps count of what is recorded, and fails when it is told to. */
const watched = (watch: StoreWatch) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const store = yield* MandateStore
      const subjects = yield* SubjectStore
      const noted = <A, E>(what: string, write: Effect.Effect<A, E>) =>
        Effect.tap(write, () => Effect.sync(() => void watch.writes.push(what)))
      const mayFail = <A, E>(read: Effect.Effect<A, E>) =>
        Effect.suspend((): Effect.Effect<A, E | StoreUnavailable> => {
          if (watch.fault === "unavailable") return Effect.fail(new StoreUnavailable({ cause: "planned" }))
          return watch.fault === "defect" ? Effect.die(new Error("planned")) : read
        })
      return Context.make(MandateStore, {
        ...store,
        load: (query) => mayFail(store.load(query)),
        append: (change) =>
          noted(change.events.map(({ type }) => type).join(" ") || "session", store.append(change))
      }).pipe(
        Context.add(SubjectStore, {
          load: (query) => mayFail(subjects.load(query)),
          replace: (change) => noted("subject", subjects.replace(change))
        })
      )
    })
  )

/** The service's own log lines, as they would be printed. */
const logTo = (lines: Array<string>): Layer.Layer<never> => {
  const print = (...parts: ReadonlyArray<unknown>) => void lines.push(parts.map(String).join(" "))
  const console = { ...globalThis.console, log: print, info: print, warn: print, error: print, debug: print }
  return Layer.merge(JsonLog.layer("All"), Layer.succeed(Console.Console)(console))
}

const portOf = (context: Context.Context<HttpServer.HttpServer>): number => {
  const { address } = Context.get(context, HttpServer.HttpServer)
  if (!("port" in address)) throw new Error("the listener has no port")
  return address.port
}

/** One request to the API. */
export interface Call {
  /** Default: GET, or POST with a body. */
  readonly method?: string
  readonly path: string
  /** Default: the caller's. `null` sends none. */
  readonly key?: string | null
  readonly idempotencyKey?: string
  /** Sent as JSON, or as it is when it is text or bytes. */
  readonly body?: unknown
  /** Further headers, or others in place of those above; `null` leaves one out. */
  readonly headers?: Readonly<Record<string, string | null>>
}

const bytesOf = (body: unknown): Buffer | undefined => {
  if (body === undefined || Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
}

const requestLines = (call: Call, key: string, body: Buffer | undefined): ReadonlyArray<string> => {
  const bearer = call.key === undefined ? key : call.key
  const headers: Readonly<Record<string, string | null>> = {
    host: "api.example",
    authorization: bearer === null ? null : `Bearer ${bearer}`,
    "idempotency-key": call.idempotencyKey ?? null,
    "content-type": body === undefined ? null : "application/json",
    "content-length": body === undefined ? null : String(body.length),
    ...call.headers
  }
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${value}`]
  )
  return [`${call.method ?? (body === undefined ? "GET" : "POST")} ${call.path} HTTP/1.1`, ...lines]
}

/** The body of an answer that must have this status. */
export const bodyOf = (answer: RawAnswer, status: number) => {
  if (answer.status !== status)
    throw new Error(`expected ${status}, got ${answer.status}: ${answer.body || "no body"}`)
  return JSON.parse(answer.body)
}

/** A fresh opening and its commitment. */
export const drawCommitment = () => {
  const bytes = randomBytes(OPENING_BYTES)
  return { opening: encodeBase64Url(bytes), commitment: commitmentOf(bytes) }
}

/** Instants of the clock that the service reads, as timestamps. */
export const inSeconds = (seconds: number | bigint): Effect.Effect<string> =>
  Effect.map(Clock.currentTimeNanos, (now) => formatInstant(now + BigInt(seconds) * NANOS_PER_SECOND))

let drawn = 0
/** An idempotency key that nothing else uses. */
export const newKey = (): string => {
  drawn += 1
  return `key-${drawn}-${encodeBase64Url(randomBytes(6))}`
}

/**
 * Both listeners of the service, on the memory store unless another is named, with two organizations that have all
 * settings, and a worker where one is asked for. Their log, at its
 * most talkative, goes to `log` alone.
 */
export const startService = Effect.fnUntraced(function* (options: ServiceOptions = {}) {
  const log: Array<string> = []
  const watch: StoreWatch = { writes: [], fault: undefined }
  const masterKey = options.masterKey ?? new Uint8Array(randomBytes(MASTER_KEY_BYTES))
  const config = configOf(masterKey, options)
  const wakeUp = Layer.succeed(WebhookWakeUp)(options.wakeUp ?? WebhookWakeUp.defaultValue())
  const { instruments = NO_INSTRUMENTS } = options
  const observing = Layer.mergeAll(
    logTo(log),
    wakeUp,
    instruments.observers,
    options.observing ?? Layer.empty
  )
  const migrations = options.migrations ?? "require"
  const built = yield* watched(watch).pipe(
    Layer.provideMerge(portsLayer(config, { migrations }, instruments)),
    Layer.provideMerge(observing),
    Layer.build
  )
  const services =
    options.webhookTransport === undefined
      ? built
      : Context.merge(built, yield* Layer.build(options.webhookTransport))
  const listen = { port: 0, host: "127.0.0.1" }
  const shared = Layer.succeedContext(services)
  const apiPort = portOf(
    yield* ApiServer.layer(listen).pipe(Layer.provide(RateLimit.layerOff), Layer.provide(shared), Layer.build)
  )
  const approvalListen = { ...listen, port: options.approvalPort ?? 0 }
  const approvalPort = portOf(
    yield* ApprovalServer.layer(approvalListen).pipe(
      Layer.provide(RateLimit.layerOff),
      Layer.provide(shared),
      Layer.build
    )
  )

  yield* instruments.beside.pipe(Layer.provide(shared), Layer.build)
  if (options.working !== undefined) {
    yield* workerLayer.pipe(Layer.provide(options.working), Layer.provide(shared), Layer.build)
  }

  /** One request of a browser to the approval origin, with these headers and no others. */
  const request = (path: string, { method = "GET", headers = {}, body = "" }: Asking = {}) =>
    Effect.promise((): Promise<RawAnswer> => {
      const all: Readonly<Record<string, string | null>> = {
        host: "approve.example",
        ...(body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) }),
        ...headers
      }
      const lines = Object.entries(all).flatMap(([name, value]) =>
        value === null ? [] : [`${name}: ${value}`]
      )
      return ask(approvalPort, [`${method} ${path} HTTP/1.1`, ...lines], body)
    })

  /** A browser with an authenticator of its own. */
  const newBrowser = (passkey = makeSoftwarePasskey({ origin: APPROVAL_ORIGIN })) =>
    // What a browser uses of the house is its origin and its requests.
    makeBrowser({ origin: APPROVAL_ORIGIN, request } as House, passkey)

  const makeKey = Effect.fnUntraced(function* (
    organization: Organization,
    key: { readonly scopes?: ReadonlyArray<ApiKeyScope>; readonly revokedAt?: string } = {}
  ) {
    const text = formatApiKey("test", randomBytes(32))
    const { revokedAt, ...rest } = key
    const record = apiKeyRecord({
      id: formatIdentifier("key_", 0, randomBytes(IDENTIFIER_RANDOM_BYTES)),
      organizationId: organization.id,
      key: text,
      createdAt: "2026-01-01T00:00:00Z",
      ...rest
    })
    const store = Context.get(services, Organizations)
    yield* store.putApiKey(revokedAt === undefined ? record : { ...record, revokedAt })
    return Redacted.value(text)
  })

  /** An organization with its backend: an API key, an issuer of identity assertions, and the calls it makes. */
  const makeTenant = Effect.fnUntraced(function* (settings: Partial<Organization> = {}) {
    const issuer = makeIdentityIssuer({ issuer: "https://shop.example", audience: "svc" })
    const organization: Organization = {
      id: formatIdentifier("org_", 0, randomBytes(IDENTIFIER_RANDOM_BYTES)),
      environment: "test",
      name: "Shop",
      identity: {
        issuer: issuer.issuer,
        audience: issuer.audience,
        algorithms: ["ES256"],
        keys: { jwks: issuer.publicJwks }
      },
      returnOrigins: [RETURN_ORIGIN],
      reportGraceSeconds: 0,
      passkeyEnrolment: "FIRST_USE",
      ...settings
    }
    yield* Context.get(services, Organizations).put(organization)
    const key = yield* makeKey(organization)

    const send = (call: Call): Effect.Effect<RawAnswer> => {
      const body = bytesOf(call.body)
      const lines = requestLines(call, key, body)
      return Effect.promise(async () => {
        const answer = await ask(apiPort, lines, body ?? "")
        assertDocumented(lines[0]!.split(" ")[0]!, call.path, answer)
        return answer
      })
    }

    const get = Effect.fnUntraced(function* (path: string) {
      return bodyOf(yield* send({ path }), 200)
    })

    /** A write under a new key unless one is given. */
    const write = (method: string, path: string, body: unknown, idempotencyKey = newKey()) =>
      send({ method, path, body, idempotencyKey })

    const mandateBody = Effect.fnUntraced(function* (parts: object = {}) {
      return {
        kind: "SINGLE",
        subject_reference: SUBJECT,
        policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
        window: { ends_at: yield* inSeconds((300n * DAY) / NANOS_PER_SECOND) },
        ...parts
      }
    })

    const newMandate = Effect.fnUntraced(function* (parts: object = {}) {
      return bodyOf(yield* write("POST", "/v1/mandates", yield* mandateBody(parts)), 201)
    })

    const assertionFor = Effect.fnUntraced(function* (parts: Partial<AssertionRequest> = {}) {
      const now = yield* Clock.currentTimeNanos
      return yield* Effect.promise(() => issuer.assertion({ subject: SUBJECT, now, ...parts }))
    })

    const sessionBody = Effect.fnUntraced(function* (parts: object = {}) {
      const return_state = encodeBase64Url(randomBytes(24))
      return {
        identity_assertion: yield* assertionFor(),
        return_url: RETURN_URL,
        return_state,
        ...parts
      }
    })

    const openSession = Effect.fnUntraced(function* (mandateId: string, parts: object = {}) {
      const body = yield* sessionBody(parts)
      const answer = yield* write("POST", `/v1/mandates/${mandateId}/approval-sessions`, body)
      const session = bodyOf(answer, 201)
      const path = new URL(session.approval_url).pathname
      return { id: session.id as string, path, token: path.split("/").at(-1) ?? "", body }
    })

    const passkeyBrowsers = new Map<string, ReturnType<typeof newBrowser>>()

    /** Creates a mandate and has its user approve it, with the same passkey each time. */
    const activeMandate = Effect.fnUntraced(function* (parts: object = {}) {
      const mandate = yield* newMandate(parts)
      const subject = mandate.subject_reference as string
      const session = yield* openSession(mandate.id, {
        identity_assertion: yield* assertionFor({ subject })
      })
      const known = passkeyBrowsers.get(subject)
      const browser = known ?? newBrowser()
      if (known === undefined) {
        passkeyBrowsers.set(subject, browser)
        bodyOf(yield* browser.register(session.path), 201)
      }
      bodyOf(yield* browser.approve(session.path), 200)
      return yield* get(`/v1/mandates/${mandate.id}`)
    })

    const proposalBody = (parts: object = {}, payment: object = {}) => ({
      external_reference: "order-1",
      proposed_action: { action: "card.create", payment: { amount: 100, currency: "EUR", ...payment } },
      execution_window_seconds: 900,
      commitment: drawCommitment().commitment,
      ...parts
    })

    /** Proposes an amount; what comes back has the opening beside the authorization. */
    const propose = Effect.fnUntraced(function* (mandateId: string, amount = 100, parts: object = {}) {
      const { commitment, opening } = drawCommitment()
      const body = proposalBody({ commitment, ...parts }, { amount })
      const answer = yield* write("POST", `/v1/mandates/${mandateId}/authorizations`, body)
      return { ...bodyOf(answer, 201), opening }
    })

    const commitBody = Effect.fnUntraced(function* (opening: string, parts: object = {}) {
      return {
        external_action_reference: "action-1",
        provider_transaction_reference: "txn-1",
        reported_accepted_at: yield* inSeconds(0),
        commitment_opening: opening,
        ...parts
      }
    })

    const commit = Effect.fnUntraced(function* (
      authorization: { readonly id: string; readonly opening: string },
      parts: object = {}
    ) {
      const body = yield* commitBody(authorization.opening, parts)
      return yield* write("PUT", `/v1/authorizations/${authorization.id}/commit`, body)
    })

    const cancel = (id: string, parts: object = {}) =>
      write("PUT", `/v1/authorizations/${id}/cancellation`, {
        reason: "CALLER_ABORTED",
        execution_disposition: "NEVER_BECAME_POSSIBLE",
        ...parts
      })

    /** Types of the events of a mandate's journal, in order. */
    const eventTypes = Effect.fnUntraced(function* (mandateId: string) {
      const page = yield* get(`/v1/mandates/${mandateId}/events?limit=100`)
      return (page.data as ReadonlyArray<{ readonly type: string }>).map(({ type }) => type)
    })

    return {
      organization,
      issuer,
      key,
      makeKey: (options: Parameters<typeof makeKey>[1]) => makeKey(organization, options),
      send,
      get,
      write,
      mandateBody,
      newMandate,
      assertionFor,
      sessionBody,
      openSession,
      activeMandate,
      proposalBody,
      propose,
      commitBody,
      commit,
      cancel,
      eventTypes
    }
  })

  return {
    apiPort,
    approvalPort,
    log,
    masterKey,
    makeTenant,
    newBrowser,
    request,
    services,
    tenant: yield* makeTenant(),
    other: yield* makeTenant({ name: "Other shop" }),
    watch
  }
})

export type Service = Effect.Success<ReturnType<typeof startService>>
export type Tenant = Service["tenant"]
