import { randomBytes } from "node:crypto"
import { API_KEY_BYTES, apiKeyRecord, formatApiKey } from "@svc/domain/organization/ApiKey"
import type { Organization } from "@svc/domain/organization/Organization"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { Effect, Redacted } from "effect"
import { makeDeploymentFolder, type Tenant } from "../soak/DeploymentFolder.ts"
import { makeEndUser, type PageAnswer } from "../soak/EndUser.ts"
import type { Json } from "../soak/RetryingClient.ts"
import { type FleetOptions, type FleetServer, pause, startServer } from "../soak/ServerFleet.ts"
import { serverConnection } from "../src/connection/ServerConnection.ts"
import * as PostgresStore from "../src/PostgresStore.ts"

const RETRY_MILLISECONDS = 50
const REQUEST_TIMEOUT_MILLISECONDS = 60_000

/** An answer of a server process. */
export interface ServerAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: shapes are those of the interface
  readonly body: any
}

/** One request as it goes to whichever process. */
export interface ServerRequest {
  readonly method: "GET" | "POST" | "PUT"
  readonly path: string
  readonly body?: Json
  /** Default: a new one. */
  readonly key?: string
  /** Default: the tenant's. */
  readonly apiKey?: string
}

/** `svc serve` processes on one database, and a client of their one organization. */
export interface TestDeployment {
  readonly tenant: Tenant
  readonly servers: ReadonlyArray<FleetServer>
  /** What went wrong with the processes by itself. */
  readonly faults: ReadonlyArray<string>
  /** Exactly one exchange. */
  readonly send: (server: FleetServer, request: ServerRequest) => Promise<ServerAnswer>
  /** Again, under the same key, for as long as the answer is 503. */
  readonly insist: (server: FleetServer, request: ServerRequest) => Promise<ServerAnswer>
  /** Gives a mandate an approval session on that server, whose assertion is issued at this instant of the host. */
  readonly openSession: (
    server: FleetServer,
    mandate: { readonly id: string; readonly subject_reference: string },
    options?: { readonly issuedAt?: bigint }
  ) => Promise<ServerAnswer>
  /** Approves a mandate as its subject does, or goes as far as the last request. */
  readonly approve: (
    server: FleetServer,
    mandate: { readonly id: string; readonly subject_reference: string }
  ) => Promise<boolean>
  readonly prepareApproval: (
    server: FleetServer,
    mandate: { readonly id: string; readonly subject_reference: string }
  ) => Promise<(() => Promise<PageAnswer>) | undefined>
  /** Another API key of the organization; gives its text. */
  readonly addApiKey: (expiresAt: string) => Promise<string>
  readonly end: () => Promise<void>
}

const newKey = (): string => randomBytes(12).toString("hex")

/** Works on the organizations of the database, whose schema is brought up to date first. */
const withOrganizations = (
  url: string,
  use: (organizations: Organizations["Service"]) => Effect.Effect<void, StoreUnavailable>
): Promise<void> =>
  Effect.flatMap(serverConnection(Redacted.make(url)), ({ options }) =>
    Effect.provide(Effect.flatMap(Organizations, use), PostgresStore.layer({ ...options, migrations: "run" }))
  ).pipe(Effect.runPromise)

const organizationOf = ({ identity, organization_id: id, return_origin }: Tenant): Organization => {
  const { d: _, ...publicJwk } = identity.private_jwk
  const { audience, issuer } = identity
  return {
    id,
    environment: "test",
    name: "Shop",
    identity: { issuer, audience, algorithms: ["ES256"], keys: { jwks: { keys: [publicJwk] } } },
    returnOrigins: [return_origin],
    reportGraceSeconds: 0,
    passkeyEnrolment: "FIRST_USE"
  }
}

const apiKeyOf = (organizationId: string, key: string, expiresAt?: string) =>
  apiKeyRecord({
    id: formatIdentifier("key_", Date.now(), randomBytes(IDENTIFIER_RANDOM_BYTES)),
    organizationId,
    key: Redacted.make(key),
    createdAt: new Date().toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt })
  })

type ServerOptions = Pick<FleetOptions, "nodeArguments" | "env">

/** Starts one server process for each of `options`, on the database at `url`, and waits until they serve. */
export const startDeployment = async (
  url: string,
  options: ReadonlyArray<ServerOptions>
): Promise<TestDeployment> => {
  const folder = makeDeploymentFolder()
  const { tenant } = folder
  const faults: Array<string> = []
  await withOrganizations(url, (organizations) =>
    Effect.andThen(
      organizations.put(organizationOf(tenant)),
      organizations.putApiKey(apiKeyOf(tenant.organization_id, tenant.api_key))
    )
  )
  const servers = await Promise.all(
    options.map((one) =>
      startServer({
        program: "serve",
        folder,
        store: url,
        onFault: (fault) => faults.push(fault),
        ...one
      })
    )
  )
  await Promise.all(servers.map((server) => server.untilReady()))

  const send: TestDeployment["send"] = async (server, request) => {
    const response = await fetch(`${server.url}${request.path}`, {
      method: request.method,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MILLISECONDS),
      headers: {
        authorization: `Bearer ${request.apiKey ?? tenant.api_key}`,
        ...(request.method === "GET"
          ? {}
          : { "content-type": "application/json", "idempotency-key": request.key ?? newKey() })
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) })
    })
    return { status: response.status, body: await response.json() }
  }
  const insist: TestDeployment["insist"] = async (server, given) => {
    const request = { ...given, key: given.key ?? newKey() }
    for (;;) {
      const answer = await send(server, request)
      if (answer.status !== 503) return answer
      await pause(RETRY_MILLISECONDS)
    }
  }

  const issuer = makeIdentityIssuer({
    issuer: tenant.identity.issuer,
    audience: tenant.identity.audience,
    privateJwk: tenant.identity.private_jwk
  })
  const openSession: TestDeployment["openSession"] = async (server, mandate, { issuedAt } = {}) =>
    insist(server, {
      method: "POST",
      path: `/v1/mandates/${mandate.id}/approval-sessions`,
      body: {
        identity_assertion: await issuer.assertion({
          subject: mandate.subject_reference,
          ...(issuedAt === undefined ? {} : { now: issuedAt })
        }),
        return_url: `${tenant.return_origin}/done`,
        return_state: "state of sixteen characters"
      }
    })

  return {
    tenant,
    servers,
    faults,
    send,
    insist,
    openSession,
    approve: async (server, mandate) => {
      const session = await openSession(server, mandate)
      return session.status === 201 && makeEndUser().approve(session.body.approval_url)
    },
    prepareApproval: async (server, mandate) => {
      const session = await openSession(server, mandate)
      return session.status === 201 ? makeEndUser().prepare(session.body.approval_url) : undefined
    },
    addApiKey: async (expiresAt) => {
      const key = Redacted.value(formatApiKey("test", randomBytes(API_KEY_BYTES)))
      await withOrganizations(url, ({ putApiKey }) =>
        putApiKey(apiKeyOf(tenant.organization_id, key, expiresAt))
      )
      return key
    },
    end: async () => {
      await Promise.all(servers.map((server) => server.end()))
      folder.remove()
    }
  }
}
