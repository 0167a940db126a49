import type { Organization } from "@svc/domain/organization/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import { Organizations } from "@svc/domain/ports/Organizations"
import { MASTER_KEY_BYTES } from "@svc/domain/ports/SecretSealer"
import { createApprovalSession } from "@svc/domain/programs/ApprovalSessions"
import { createMandate, readMandate, revokeMandate } from "@svc/domain/programs/Mandates"
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import * as PasskeyVerifierWebAuthn from "@svc/passkey-webauthn/PasskeyVerifierWebAuthn"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { formatInstant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import * as FaultyStore from "@svc/testkit/FaultyStore"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Clock, Context, Effect, Layer, Logger, Redacted, References } from "effect"
import { HttpServer } from "effect/http"
import * as ApprovalServer from "../src/approval/ApprovalServer.ts"
import * as FailedCredentials from "../src/gate/FailedCredentials.ts"
import type { Rate } from "../src/gate/TokenBuckets.ts"
import { ask, type RawAnswer } from "./RawExchange.ts"

export const APPROVAL_ORIGIN = "https://approve.example"
export const API_BASE_URL = "https://api.example"
export const RETURN_URL = "https://shop.example/return?order=7"
export const RETURN_STATE = "state-of-sixteen-characters-or-more"
export const SUBJECT = "user_8f2"

const HOUR = 3600n * NANOS_PER_SECOND

let drawn = 0
/** An idempotency key that nothing else uses. */
const newKey = (): string => {
  drawn += 1
  return `key-${drawn}`
}

export interface HouseOptions {
  readonly approvalBaseUrl?: string
  readonly passkeyEnrolment?: Organization["passkeyEnrolment"]
  readonly organizationName?: string
  /** Default: one that the system chooses. */
  readonly port?: number
  /** Of links that open nothing. Default: no limit. */
  readonly failures?: Rate
}

const portsLayer = (approvalBaseUrl: string) =>
  Layer.mergeAll(
    FaultyStore.layer(MemoryStore.layer),
    SignerNodeCrypto.layerEphemeral,
    Layer.orDie(
      SecretSealerNodeCrypto.layer({
        current: Redacted.make(new Uint8Array(MASTER_KEY_BYTES)),
        previous: undefined
      })
    ),
    RandomnessNodeCrypto.layer,
    TimeZonesIntl.layer,
    IdentityVerifierJose.layer,
    PasskeyVerifierWebAuthn.layer,
    Layer.succeed(Deployment)({
      environment: "test",
      baseUrl: API_BASE_URL,
      approvalBaseUrl,
      approvalOrigin: approvalBaseUrl,
      rpId: new URL(approvalBaseUrl).hostname,
      localhostReturnOrigins: false
    })
  )

/** What one request asks, beyond what a browser on the page sends. `null` leaves a header out. */
export interface Asking {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | null>>
  readonly body?: string | Buffer
}

/**
 * The approval origin on a port of its own, over a store in memory, with one organization: everything that the tests
 * of the pages need to have mandates, sessions and browsers.
 */
export const openHouse = Effect.fnUntraced(function* (options: HouseOptions = {}) {
  const origin = options.approvalBaseUrl ?? APPROVAL_ORIGIN
  const log: Array<string> = []
  const logging = Layer.merge(
    Logger.layer([Logger.map(Logger.formatJson, (line) => void log.push(line))]),
    Layer.succeed(References.MinimumLogLevel)("All")
  )
  const services = yield* ApprovalServer.layer({ port: options.port ?? 0, host: "127.0.0.1" }).pipe(
    Layer.provide(
      options.failures === undefined ? FailedCredentials.layerOff : FailedCredentials.layer(options.failures)
    ),
    Layer.provideMerge(portsLayer(origin)),
    Layer.provideMerge(logging),
    Layer.build
  )
  const { port } = Context.get(services, HttpServer.HttpServer).address as unknown as {
    readonly port: number
  }
  const issuer = makeIdentityIssuer({ issuer: "https://shop.example", audience: "svc" })
  const organization: Organization = {
    id: formatIdentifier("org_", 0, new Uint8Array(IDENTIFIER_RANDOM_BYTES)),
    environment: "test",
    name: options.organizationName ?? "Shop",
    identity: {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms: ["ES256"],
      keys: { jwks: issuer.publicJwks }
    },
    returnOrigins: [new URL(RETURN_URL).origin],
    reportGraceSeconds: 0,
    passkeyEnrolment: options.passkeyEnrolment ?? "FIRST_USE"
  }
  yield* Context.get(services, Organizations).put(organization)

  /** A mandate that waits for approval; `parts` replace members of the request. */
  const newMandate = Effect.fnUntraced(function* (parts: JsonObject = {}) {
    const now = yield* Clock.currentTimeNanos
    const body: JsonValue = {
      kind: "SINGLE",
      subject_reference: SUBJECT,
      policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
      window: { ends_at: formatInstant(now + 240n * HOUR) },
      description: "A book",
      ...parts
    }
    const creation = createMandate({ organization, idempotencyKey: newKey(), body })
    return (yield* Effect.provide(creation, services)).resource
  })

  const newSession = Effect.fnUntraced(function* (mandateId: string) {
    const now = yield* Clock.currentTimeNanos
    const assertion = yield* Effect.promise(() => issuer.assertion({ subject: SUBJECT, now }))
    const body = { identity_assertion: assertion, return_url: RETURN_URL, return_state: RETURN_STATE }
    const creation = createApprovalSession({ organization, idempotencyKey: newKey(), mandateId, body })
    const { resource } = yield* Effect.provide(creation, services)
    const path = new URL(resource.approval_url ?? "").pathname
    return { id: resource.id, path, token: path.split("/").at(-1) ?? "" }
  })

  const stateOf = Effect.fnUntraced(function* (mandateId: string) {
    return (yield* readMandate({ organization: organization.id, mandateId })).state
  }, Effect.provide(services))

  const revoke = Effect.fnUntraced(function* (mandateId: string) {
    yield* revokeMandate({ organization, idempotencyKey: newKey(), mandateId, body: { reason: "test" } })
  }, Effect.provide(services))

  /** One request with these headers and no others. */
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
      return ask(port, [`${method} ${path} HTTP/1.1`, ...lines], body)
    })

  /** Lets the next call of the store fail before anything is done. */
  const failNext = (operation: FaultyStore.StoreFault["operation"]) =>
    Context.get(services, FaultyStore.StoreFaults).plan({ operation, nth: 1, moment: "before" })

  return { failNext, log, newMandate, newSession, origin, port, request, revoke, stateOf, services }
})

export type House = Effect.Success<ReturnType<typeof openHouse>>

/** A browser with one authenticator that keeps its cookies and acts on pages of the house. */
export const makeBrowser = (house: House, passkey = makeSoftwarePasskey({ origin: house.origin })) => {
  const cookies = new Map<string, string>()
  const cookieHeader = () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")

  /** A POST as the page's script sends it; `asking` replaces parts of it. */
  const post = Effect.fnUntraced(function* (path: string, body: unknown, asking: Asking = {}) {
    const answer = yield* house.request(path, {
      method: "POST",
      body: JSON.stringify(body),
      ...asking,
      headers: {
        origin: house.origin,
        "content-type": "application/json",
        ...(cookies.size === 0 ? {} : { cookie: cookieHeader() }),
        ...asking.headers
      }
    })
    const set = /^([^=]+)=([^;]*)/u.exec(answer.headers["set-cookie"] ?? "")
    if (set !== null) cookies.set(set[1]!, set[2]!)
    return answer
  })

  const ceremony = Effect.fnUntraced(function* (path: string) {
    const answer = yield* post(`${path}/ceremony`, {})
    if (answer.status !== 200) throw new Error(`ceremony: ${answer.status} ${answer.body}`)
    return JSON.parse(answer.body)
  })

  /** Creates a passkey in the session. */
  const register = Effect.fnUntraced(function* (path: string) {
    const { options } = yield* ceremony(path)
    return yield* post(`${path}/passkey`, passkey.register(options))
  })

  /** Approves with the passkey there is. */
  const approve = Effect.fnUntraced(function* (path: string) {
    const { options } = yield* ceremony(path)
    return yield* post(`${path}/approval`, passkey.authenticate(options))
  })

  return { approve, ceremony, cookies, passkey, post, register }
}
