import { randomBytes } from "node:crypto"
import { apiKeyHash, apiKeyRecord, formatApiKey } from "@svc/domain/organization/ApiKey"
import type { ApiKeyScope, Organization } from "@svc/domain/organization/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { cachedApiKeys } from "@svc/domain/programs/ApiKeyCache"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import * as PasskeyVerifierWebAuthn from "@svc/passkey-webauthn/PasskeyVerifierWebAuthn"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Clock, Context, Effect, Layer, Logger, Redacted, References } from "effect"
import { HttpServer } from "effect/http"
import * as ApiServer from "../src/api/ApiServer.ts"
import * as RateLimit from "../src/gate/RateLimit.ts"
import { SampleOrganization } from "../src/reference/SampleOrganization.ts"
import { assertDocumented } from "./DocumentedAnswer.ts"
import { ask, type RawAnswer } from "./RawExchange.ts"

export const BASE_URL = "https://api.example"

const DEPLOYMENT = Deployment.of({
  environment: "test",
  baseUrl: BASE_URL,
  approvalBaseUrl: "https://approve.example",
  approvalOrigin: "https://approve.example",
  rpId: "approve.example",
  localhostReturnOrigins: true
})

const ports = Layer.mergeAll(
  SignerNodeCrypto.layerEphemeral,
  SecretSealerNodeCrypto.layer({ current: Redacted.make(new Uint8Array(32)) }),
  RandomnessNodeCrypto.layer,
  TimeZonesIntl.layer,
  IdentityVerifierJose.layer,
  PasskeyVerifierWebAuthn.layer,
  WebhookTransportHttp.layer({ loopbackAllowed: true }),
  Layer.succeed(Deployment, DEPLOYMENT)
)

const identifier = (prefix: "org_" | "key_", now: number) =>
  formatIdentifier(prefix, now, randomBytes(IDENTIFIER_RANDOM_BYTES))

export interface KeyOptions {
  readonly scopes?: ReadonlyArray<ApiKeyScope>
  readonly expiresAt?: string
  readonly revokedAt?: string
}

/** Makes an organization without settings of its own. */
const makeOrganization = Effect.gen(function* () {
  const organizations = yield* Organizations
  const organization: Organization = {
    id: identifier("org_", yield* Clock.currentTimeMillis),
    environment: "test",
    name: "Organization",
    returnOrigins: [],
    reportGraceSeconds: 0,
    passkeyEnrolment: "FIRST_USE"
  }
  yield* organizations.put(organization)
  return organization
})

const makeKey = Effect.fnUntraced(function* (organization: Organization, options: KeyOptions = {}) {
  const organizations = yield* Organizations
  const key = formatApiKey("test", randomBytes(32))
  const { revokedAt, ...rest } = options
  const record = apiKeyRecord({
    id: identifier("key_", yield* Clock.currentTimeMillis),
    organizationId: organization.id,
    key,
    createdAt: "2026-01-01T00:00:00Z",
    ...rest
  })
  yield* organizations.putApiKey(revokedAt === undefined ? record : { ...record, revokedAt })
  return Redacted.value(key)
})

export interface Request {
  readonly method?: string
  readonly path: string
  readonly key?: string
  readonly idempotencyKey?: string
  /** Sent as JSON, or as it is when it is text. */
  readonly body?: unknown
  /** Further header lines. */
  readonly lines?: ReadonlyArray<string>
}

const linesOf = (request: Request, body: string | undefined): ReadonlyArray<string> => [
  `${request.method ?? (body === undefined ? "GET" : "POST")} ${request.path} HTTP/1.1`,
  "Host: api.example",
  ...(request.key === undefined ? [] : [`Authorization: Bearer ${request.key}`]),
  ...(request.idempotencyKey === undefined ? [] : [`Idempotency-Key: ${request.idempotencyKey}`]),
  ...(body === undefined
    ? []
    : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]),
  ...(request.lines ?? [])
]

const textOf = (body: unknown): string | undefined =>
  body === undefined || typeof body === "string" ? body : JSON.stringify(body)

/** An API on a memory store, with two organizations; closed with the scope. */
export const startApi = Effect.fnUntraced(function* (
  options: {
    readonly rate?: RateLimit.Rate
    /** Of requests without a good API key, where there is a `rate`. Default: that of the service. */
    readonly failures?: RateLimit.Rate
    readonly log?: Array<unknown>
    readonly health?: StoreHealth["Service"]["faults"]
    readonly sampleApiKey?: string
    /** Default: one of its own. */
    readonly store?: Context.Context<StoragePorts>
  } = {}
) {
  const logger = Logger.make<unknown, void>(({ cause, fiber, message }) => {
    options.log?.push({ message, cause: String(cause), ...fiber.getRef(References.CurrentLogAnnotations) })
  })
  const rate =
    options.rate === undefined ? RateLimit.layerOff : RateLimit.layer(options.rate, options.failures)
  const context = yield* ApiServer.layer({ port: 0, host: "127.0.0.1" }).pipe(
    Layer.provide(rate),
    Layer.provide(
      options.sampleApiKey === undefined
        ? Layer.empty
        : Layer.succeed(SampleOrganization)({
            apiKey: Redacted.make(options.sampleApiKey),
            returnOrigin: "http://localhost:10000"
          })
    ),
    Layer.provide(
      options.health === undefined
        ? Layer.empty
        : Layer.succeed(StoreHealth, StoreHealth.of({ faults: options.health }))
    ),
    Layer.provideMerge(ports),
    Layer.provideMerge(
      Layer.provideMerge(
        cachedApiKeys,
        options.store === undefined ? MemoryStore.layer : Layer.succeedContext(options.store)
      )
    ),
    Layer.provideMerge(Logger.layer([logger])),
    Layer.build
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  if (!("port" in address)) return yield* Effect.die(new Error("no port"))
  const { port } = address
  const within = Effect.provideContext(context)
  const organization = yield* within(makeOrganization)
  const other = yield* within(makeOrganization)
  return {
    port,
    organization,
    key: yield* within(makeKey(organization)),
    otherKey: yield* within(makeKey(other)),
    makeKey: (keyOptions: KeyOptions) => within(makeKey(organization, keyOptions)),
    revoke: (key: string) =>
      within(
        Effect.gen(function* () {
          const organizations = yield* Organizations
          const found = yield* organizations.findApiKey(apiKeyHash(Redacted.make(key)))
          if (found === undefined) return yield* Effect.die(new Error("no such key"))
          yield* organizations.putApiKey({ ...found.apiKey, revokedAt: "2026-01-02T00:00:00Z" })
        })
      ),
    send: (request: Request): Effect.Effect<RawAnswer> => {
      const body = textOf(request.body)
      const lines = linesOf(request, body)
      return Effect.promise(async () => {
        const answer = await ask(port, lines, body ?? "")
        assertDocumented(lines[0]!.split(" ")[0]!, request.path, answer)
        return answer
      })
    }
  }
})
