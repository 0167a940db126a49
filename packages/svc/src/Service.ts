import { SvcError } from "@svc/client"
import { type Calls, makeBegunExecutions, withExecution } from "@svc/client/calls"
import { organizationOnRecord } from "@svc/domain/engine/OrganizationRecord"
import { newApiKey } from "@svc/domain/organization/ApiKey"
import { API_KEY_SCOPES, type ApiKeyScope } from "@svc/domain/organization/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import { Organizations } from "@svc/domain/ports/Organizations"
import { Randomness } from "@svc/domain/ports/Randomness"
import { Signer } from "@svc/domain/ports/Signer"
import type { DomainRefusal } from "@svc/domain/programs/RefusalProblem"
import { BillingAccountRequired } from "@svc/domain/Refusals"
import { Refused, refusing } from "@svc/http-server/http/ProblemResponse"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import type { JsonObject } from "@svc/protocol/json/Json"
import { type Instant, parseTimestamp } from "@svc/protocol/Timestamp"
import type { HostClient } from "@svc/store-postgres/connection/HostClient"
import { verifyEvidence } from "@svc/verifier"
import { Cause, Clock, Context, Effect, Exit, Option, Redacted } from "effect"
import { boundedCalls, callsWithinTransaction, type RunFor } from "./CallBounds.ts"
import { withinTransaction } from "./HostTransaction.ts"
import { notOpenError } from "./NotOpen.ts"
import { givenWords, isObject, unknownNames } from "./OptionFaults.ts"
import { makeCalls, type OrganizationFace } from "./OrganizationFace.ts"
import { faceOf as faceOfPath, makeApp, type ServiceApp } from "./ServiceApp.ts"
import { makeFetch } from "./ServiceFetch.ts"
import type { ServiceOptions } from "./ServiceOptions.ts"
import { makeRuntime, type RunEffect, type ServiceRuntime, type Services } from "./ServiceRuntime.ts"
import { type Mounts, settingsOf } from "./ServiceSettings.ts"
import { takeStore } from "./Store.ts"
import { svcErrorOf } from "./SvcError.ts"
import { isThenable } from "./Thenable.ts"

/** What the handlers of this package use of a service, and nobody else. */
export const ServiceParts: unique symbol = Symbol("svc/ServiceParts")

/** A service: its API and approval page as a web-standard handler, and its resources as typed calls. */
export interface Service {
  /**
   * Answers a request for the API or the approval page with the path that `baseUrl` and `approvalUrl` give them. While the
   * store cannot be opened it answers 503, and the next request tries again. It rejects only if the request's signal is
   * aborted, with the signal's reason: a write is then recorded whole, or not at all.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /** The resources of an organization. Throws an `SvcError` for anything but a string. */
  readonly forOrganization: (organizationId: string) => OrganizationFace
  /** Makes an API key, for callers over HTTP. Its text is returned here alone. In live the organization has a billing account. */
  readonly createApiKey: (
    organizationId: string,
    options?: { readonly scopes?: ReadonlyArray<ApiKeyScope>; readonly expiresAt?: string }
  ) => Promise<{ readonly id: string; readonly key: string }>
  /**
   * The payload of an evidence envelope that this service has signed, verified in full by `@svc/verifier`, which also gives a
   * report. Throws a `TypeError` that says what is wrong with it.
   */
  readonly verifyEvidence: (envelope: unknown) => Promise<JsonObject>
  /**
   * Runs calls within a transaction that the host has begun on `client`, a connection of `pg`: they are recorded with
   * whatever else the host writes there, or not at all. Nothing is decided for good before the host commits: act on an
   * authorization afterwards. Until then others who use the same mandate wait, so keep it short. Only with `postgres()`.
   *
   * @example
   * ```ts
   * await client.query("begin")
   * const authorization = await service.transaction(client, async (within) => {
   *   await client.query("insert into orders (id) values ($1)", [order])
   *   return within.forOrganization(shop).authorizations.propose(mandate, proposal, { idempotencyKey: order })
   * })
   * await client.query("commit")
   * ```
   */
  readonly transaction: <A>(
    client: HostClient,
    run: (within: { readonly forOrganization: (organizationId: string) => Calls }) => Promise<A>
  ) => Promise<A>
  /** Opens the store and starts the workers, which the first call does otherwise. Rejects if the store cannot be opened. */
  readonly ready: () => Promise<void>
  /**
   * Lets calls, transactions, executions and answers under way finish, for 12 s at most, then stops the workers and closes
   * the store. What comes meanwhile and later is refused. A host that uses `toNodeHandler` closes its server first.
   */
  readonly close: () => Promise<void>
  readonly [ServiceParts]: {
    readonly runtime: ServiceRuntime
    readonly app: ServiceApp
    readonly mounts: Mounts
    readonly baseUrl: string
  }
}

/**
 * A new identifier for an organization of `ServiceOptions`. Keep it: it stands in everything that the organization does.
 *
 * @example
 * ```ts
 * import { newOrganizationId } from "svc"
 *
 * console.assert(newOrganizationId().startsWith("org_"))
 * ```
 */
export const newOrganizationId = (): string =>
  formatIdentifier("org_", Date.now(), crypto.getRandomValues(new Uint8Array(IDENTIFIER_RANDOM_BYTES)))

const unknownOrganization = new Refused({
  code: "not_found",
  detail: "There is no such organization in this environment."
})

const refuseKeySettings = (
  {
    expiresAt,
    scopes = API_KEY_SCOPES
  }: {
    readonly expiresAt: string | undefined
    readonly scopes: ReadonlyArray<ApiKeyScope> | undefined
  },
  now: Instant
): Effect.Effect<void, Refused> => {
  const expiry = typeof expiresAt === "string" ? parseTimestamp(expiresAt) : undefined
  const faults = [
    ...(expiresAt === undefined || (expiry !== undefined && expiry > now)
      ? []
      : [
          {
            pointer: "/expiresAt",
            code: "invalid_value",
            detail: "Must be an RFC 3339 time in UTC that is to come."
          }
        ]),
    ...(Array.isArray(scopes) && scopes.length > 0 && scopes.every((scope) => API_KEY_SCOPES.includes(scope))
      ? []
      : [
          {
            pointer: "/scopes",
            code: "invalid_value",
            detail: `Must be some of ${API_KEY_SCOPES.join(", ")}.`
          }
        ])
  ]
  return faults.length === 0
    ? Effect.void
    : Effect.fail(new Refused({ code: "validation_failed", errors: faults }))
}

/** A misspelt `scopes` or `expiresAt` that was passed over would make a key that may do more, or for longer. */
const checkKeyOptions = (given: unknown): void => {
  const faults = isObject(given)
    ? unknownNames(given, ["scopes", "expiresAt"])
    : [`its options are an object, and it was given ${givenWords(given)}`]
  if (faults.length > 0)
    throw new SvcError({ code: "invalid_argument", message: `createApiKey: ${faults.join(" ")}` })
}

/** An identifier that is `undefined` is mostly a setting that is not there, which the host should learn at once. */
const refuseOtherThanText = (id: unknown, of = "forOrganization"): void => {
  if (typeof id === "string") return
  throw svcErrorOf({
    code: "validation_failed",
    detail: `${of} takes the identifier of an organization as a string, and was given ${givenWords(id)}.`
  })
}

const organizationNamed = (id: string) =>
  Effect.catchTag(organizationOnRecord(id), "OrganizationUnknown", () => Effect.fail(unknownOrganization))

/** The error of a failed call; a fault that is no refusal is logged, and says nothing of the inside. */
const errorOf = (cause: Cause.Cause<Refused>, idempotencyKey: string | undefined): SvcError => {
  const refused = Option.getOrUndefined(Cause.findErrorOption(cause))
  return svcErrorOf(refused ?? { code: "internal_error" }, { idempotencyKey })
}

/** Runs a program of a call. */
const makeRun =
  (runEffect: RunEffect) =>
  async <A>(
    program: Effect.Effect<A, DomainRefusal | Refused, Services>,
    idempotencyKey?: string
  ): Promise<A> => {
    const logged = Effect.tapCause(refusing(program), (cause) =>
      Option.isNone(Cause.findErrorOption(cause))
        ? Effect.logError("a call failed unexpectedly", cause)
        : Effect.void
    )
    const exit = await runEffect(Effect.exit(logged)).catch((fault: unknown) => {
      throw notOpenError(fault, idempotencyKey)
    })
    if (Exit.isSuccess(exit)) return exit.value
    throw errorOf(exit.cause, idempotencyKey)
  }

/**
 * Ends a program when a signal is aborted: it is interrupted, and nobody waits for its result. It does not begin under a signal
 * that was aborted before.
 */
const untilAborted = <A, E, R>(
  program: Effect.Effect<A, E, R>,
  signal: AbortSignal
): Effect.Effect<A, E | Refused, R> => {
  const ended = new Refused({ code: "request_timeout" })
  const aborted = Effect.callback<never, Refused>((resume) => {
    const end = () => resume(Effect.fail(ended))
    signal.addEventListener("abort", end, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", end))
  })
  return Effect.suspend(() => (signal.aborted ? Effect.fail(ended) : Effect.raceFirst(program, aborted)))
}

/**
 * Makes a service within this process. Throws a `TypeError` that says all that is wrong with the options; the store is opened
 * by the first call, or by `ready`.
 *
 * @example
 * ```ts
 * import { createService, newOrganizationId } from "svc"
 * import { memory } from "svc/memory"
 *
 * const organization = newOrganizationId()
 * const service = createService({
 *   environment: "test",
 *   baseUrl: "http://localhost:3000/mandates",
 *   approvalUrl: "http://localhost:3000/approvals",
 *   store: memory(),
 *   organizations: [{ id: organization, name: "Shop", returnOrigins: ["http://localhost:3000"] }]
 * })
 * const shop = service.forOrganization(organization)
 * ```
 */
export const createService = (given: ServiceOptions): Service => {
  const settings = settingsOf(given)
  const { deployment, mounts, options } = settings
  takeStore(options.store, "createService")
  const runtime = makeRuntime(settings)
  const run = makeRun(runtime.run)
  /** What was executed in this process, whichever face executed it. */
  const executions = { begun: makeBegunExecutions() }
  const runFor = (
    organizationId: string,
    {
      ports = Context.empty(),
      runEffect
    }: { readonly ports?: Context.Context<never>; readonly runEffect: RunEffect }
  ): RunFor => {
    refuseOtherThanText(organizationId)
    const run = makeRun(runEffect)
    return (program, { idempotencyKey, signal }) => {
      const found = Effect.provideContext(
        Effect.flatMap(organizationNamed(organizationId), program),
        ports
      ) as ReturnType<typeof program>
      return run(signal === undefined ? found : untilAborted(found, signal), idempotencyKey)
    }
  }
  const faceOf = (id: string, runEffect: RunEffect): OrganizationFace =>
    withExecution(makeCalls(boundedCalls(runFor(id, { runEffect }))), executions)
  const app = Effect.runSync(Effect.provideService(makeApp(options, mounts), Deployment, deployment))
  return {
    fetch: makeFetch(runtime, app, options.baseUrl),
    forOrganization: (id) => ({
      ...faceOf(id, runtime.run),
      // As a whole, so that what was run is reported before the store is closed.
      execute: (...given) => runtime.hold((runEffect) => faceOf(id, runEffect).execute(...given))
    }),
    transaction: (client, within) =>
      runtime.hold((runEffect) =>
        withinTransaction({ store: options.store, client, runEffect }, (ports, call) =>
          within({
            forOrganization: (id) => {
              const run = runFor(id, { ports: ports as Context.Context<never>, runEffect })
              return makeCalls(callsWithinTransaction((program, about) => call(() => run(program, about))))
            }
          })
        )
      ),
    createApiKey: async (organizationId, keyOptions) => {
      refuseOtherThanText(organizationId, "createApiKey")
      if (keyOptions !== undefined) checkKeyOptions(keyOptions)
      const { expiresAt, scopes } = keyOptions ?? {}
      return run(
        Effect.gen(function* () {
          const organization = yield* organizationNamed(organizationId)
          if (organization.environment === "live" && organization.billingAccountReference === undefined)
            return yield* new BillingAccountRequired()
          const now = yield* Clock.currentTimeNanos
          yield* refuseKeySettings({ expiresAt, scopes }, now)
          const { bytes } = yield* Randomness
          const { key, record } = newApiKey(
            organization,
            { bytes, now },
            {
              ...(scopes === undefined ? {} : { scopes }),
              ...(expiresAt === undefined ? {} : { expiresAt })
            }
          )
          yield* (yield* Organizations).putApiKey(record)
          return { id: record.id, key: Redacted.value(key) }
        })
      )
    },
    verifyEvidence: async (envelope) => {
      if (isThenable(envelope)) throw new TypeError("verifyEvidence was given a promise: await it.")
      const keySet = await run(Effect.flatMap(Signer, (signer) => signer.keySet))
      return payloadOf(envelope, keySet)
    },
    ready: async () => {
      await runtime.opened()
    },
    close: runtime.close,
    [ServiceParts]: { runtime, app, mounts, baseUrl: options.baseUrl }
  }
}

/** The payload of evidence that is valid. */
const payloadOf = async (envelope: unknown, keySet: object): Promise<JsonObject> => {
  // Members that a getter gives are read once.
  const received = typeof envelope === "object" ? { ...envelope } : {}
  const { checks, verdict } = await verifyEvidence(received, keySet)
  if (verdict === "valid" && "payload" in received) {
    return JSON.parse(new TextDecoder().decode(decodeBase64Url(String(received.payload))))
  }
  const failed = checks.find(({ status }) => status === "fail")
  throw new TypeError(`The evidence is ${verdict}: ${failed?.name}: ${failed?.detail}.`)
}

/** The parts of a service. Throws a `TypeError` that says what to pass in place of what was given. */
export const partsOf = (service: unknown, by: string): Service[typeof ServiceParts] => {
  if (isObject(service) && ServiceParts in service) return (service as unknown as Service)[ServiceParts]
  throw new TypeError(
    `${by} takes a service, as createService returns it, and was given ${givenWords(service)}.`
  )
}

/** Whether a path is one of a service's faces. */
export const isPathOf = (service: Service, target: string, host: string | undefined): boolean =>
  faceOfPath(service[ServiceParts].mounts, target, host) !== undefined
