import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { apiKeyRecord } from "@svc/domain/organization/ApiKey"
import type { Organization } from "@svc/domain/organization/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import { MASTER_KEY_BYTES } from "@svc/domain/ports/SecretSealer"
import { isLoopbackHost } from "@svc/domain/webhook/WebhookTarget"
import { workerLayer } from "@svc/domain/workers/Worker"
import { NO_PROXIES } from "@svc/http-server/http/ClientAddress"
import {
  SampleOrganization,
  type SampleOrganizationFacts
} from "@svc/http-server/reference/SampleOrganization"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { formatNanos, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Clock, Console, Effect, Layer, Redacted } from "effect"
import { type DevConfig, devConfig, type ServerConfig } from "../config/Config.ts"
import { readMasterKeyFile } from "../config/MasterKeyFile.ts"
import { MAX_PORT } from "../config/Port.ts"
import { printSettingWarnings } from "../config/SettingWarnings.ts"
import type { StoreSetting } from "../config/StoreSetting.ts"
import { listenersLayer, portsLayer } from "../start/CompositionRoot.ts"
import { databaseFault } from "../start/DatabaseFault.ts"
import * as JsonLog from "../start/JsonLog.ts"
import { describeStore } from "../start/StoreLayer.ts"
import * as Tracing from "../start/Tracing.ts"
import { DEV_FILE_NAME, type DevFile, devFileWith, findOwnDevFile, writeDevFile } from "./DevFile.ts"
import { ReturnPort, returnListener } from "./ReturnListener.ts"

/** Where a developer's application usually listens; approvals may return there too. Old `dev.json` files name it as return origin. */
const USUAL_APPLICATION_ORIGIN = "http://localhost:3000"

/** Distance of the default return port from the approval port, so that a second server on the next ports does not clash. */
const RETURN_PORT_OFFSET = 1000
/** Lets the operating system choose. */
const ANY_PORT = 0

/** The port of the return page: that of earlier starts if any, so that their sessions still return to it. */
const returnPortOf = ({ approvalPort, port }: DevConfig, existing: DevFile | undefined): number => {
  const origin = existing?.return_origin
  const wanted =
    origin === undefined || origin === USUAL_APPLICATION_ORIGIN
      ? approvalPort + RETURN_PORT_OFFSET
      : Number(new URL(origin).port)
  return wanted > MAX_PORT || wanted === port || wanted === approvalPort ? ANY_PORT : wanted
}

/** The registered return origins without repetition, the present one first. */
const returnOriginsOf = (file: DevFile, existing: DevFile | undefined): ReadonlyArray<string> => [
  ...new Set([
    file.return_origin,
    ...(existing === undefined ? [] : [existing.return_origin]),
    USUAL_APPLICATION_ORIGIN
  ])
]

/** Nothing in memory survives a start, so a new master key does for it. */
const masterKeyOf = ({ store }: DevConfig, folder: string) =>
  store === "memory"
    ? Effect.sync(() => Redacted.make(new Uint8Array(randomBytes(MASTER_KEY_BYTES)), { label: "master key" }))
    : readMasterKeyFile(folder)

/** The settings of `svc serve` that the development server runs with. */
const serverConfigOf = (config: DevConfig, masterKey: Redacted.Redacted<Uint8Array>): ServerConfig => ({
  ...config,
  environment: "test",
  baseUrl: `http://localhost:${config.port}`,
  approvalBaseUrl: `http://localhost:${config.approvalPort}`,
  rpId: "localhost",
  masterKey,
  masterKeyPrevious: undefined,
  trustedProxies: NO_PROXIES,
  webhookLoopback: true
})

const organizationOf = (
  file: DevFile,
  returnOrigins: ReadonlyArray<string>,
  id: string,
  name: string
): Organization => {
  const { d: _, ...publicJwk } = file.identity.private_jwk
  const { audience, issuer } = file.identity
  return {
    id,
    environment: "test",
    name,
    identity: { issuer, audience, algorithms: ["ES256"], keys: { jwks: { keys: [publicJwk] } } },
    returnOrigins,
    reportGraceSeconds: 0,
    passkeyEnrolment: "FIRST_USE"
  }
}

const putOrganization = Effect.fnUntraced(function* (
  file: DevFile,
  returnOrigins: ReadonlyArray<string>,
  tenant: { readonly organization_id: string; readonly api_key: string },
  name: string
) {
  const organizations = yield* Organizations
  const now = yield* Clock.currentTimeMillis
  const apiKey = apiKeyRecord({
    id: formatIdentifier("key_", now, randomBytes(IDENTIFIER_RANDOM_BYTES)),
    organizationId: tenant.organization_id,
    key: Redacted.make(tenant.api_key, { label: "api_key" }),
    createdAt: formatNanos(BigInt(now) * NANOS_PER_MILLISECOND)
  })
  const stored = yield* organizations.find(tenant.organization_id)
  // Sessions of earlier starts may still return to origins that are already registered.
  const origins = [...new Set([...returnOrigins, ...(stored?.returnOrigins ?? [])])]
  yield* organizations.put(organizationOf(file, origins, tenant.organization_id, name))
  if ((yield* organizations.findApiKey(apiKey.hash)) === undefined) yield* organizations.putApiKey(apiKey)
})

const putOrganizations = (file: DevFile, returnOrigins: ReadonlyArray<string>) =>
  Effect.andThen(
    putOrganization(file, returnOrigins, file, "Development organization"),
    putOrganization(file, returnOrigins, file.second_organization, "Second development organization")
  ).pipe(Effect.mapError((fault) => databaseFault(fault, undefined)))

/** A command that prints an API key of the file. */
const apiKeyCommand = (path: string, member = "api_key"): string => `node -p 'require("${path}").${member}'`

/** What the return page is for, and why its port has changed, if it has. */
const returnNote = (wanted: number, port: number): string =>
  wanted === ANY_PORT || wanted === port
    ? "in the place of your application"
    : `in the place of your application; port ${wanted} is taken`

const banner = (file: DevFile, returns: string, path: string, store: StoreSetting): string => `
Development server. Not for production: test environment, ${describeStore(store)}.

  API             ${file.base_url}
  Reference       ${file.base_url}/docs
  Approval pages  ${file.approval_base_url}
  Return page     ${file.return_origin} (${returns})
  Keys and ids    ${path}

Next: walk the whole lifecycle with "npm run quickstart", or begin by asking for your mandates.

  curl ${file.base_url}/v1/mandates -H "Authorization: Bearer $(${apiKeyCommand(path)})"
`

/** Whether the listeners can be reached from this machine only. */
const bindsToLoopback = ({ host }: DevConfig): boolean =>
  isLoopbackHost(new URL(`http://${host.includes(":") ? `[${host}]` : host}`))

/** The reference shows the API key only if nobody but this machine can read the page. */
const sampleOrganizationOf = (config: DevConfig, file: DevFile): SampleOrganizationFacts | undefined =>
  bindsToLoopback(config)
    ? { apiKey: Redacted.make(file.api_key, { label: "api_key" }), returnOrigin: file.return_origin }
    : undefined

/** A new embedded database takes its time, in which there is nothing else to be seen. */
const announceNewDatabase = ({ store }: DevConfig): Effect.Effect<void> =>
  store !== "memory" && "pglite" in store && !existsSync(store.pglite)
    ? Console.log(`Making a database in ${store.pglite}, once; this takes a while ...`)
    : Effect.void

/** The development server, until interrupted. It writes `dev.json` and its banner once it listens. */
export const devServer = Effect.gen(function* () {
  yield* printSettingWarnings("dev")
  const config = yield* devConfig
  const folder = resolve(config.dataDir)
  const path = join(folder, DEV_FILE_NAME)
  const server = serverConfigOf(config, yield* masterKeyOf(config, folder))
  const existing = yield* findOwnDevFile(folder)
  const returnPort = returnPortOf(config, existing)
  const made = yield* devFileWith(existing, {
    base_url: server.baseUrl,
    approval_base_url: server.approvalBaseUrl,
    return_origin: `http://localhost:${returnPort}`
  })
  const returning = returnListener({
    port: returnPort,
    host: config.host,
    baseUrl: server.baseUrl,
    organizations: [
      { id: made.organization_id, apiKeyCommand: apiKeyCommand(path) },
      {
        id: made.second_organization.organization_id,
        apiKeyCommand: apiKeyCommand(path, "second_organization.api_key")
      }
    ]
  })
  const service = Layer.unwrap(
    Effect.map(ReturnPort, (port) => {
      const file: DevFile = { ...made, return_origin: `http://localhost:${port}` }
      const announce = Effect.andThen(
        writeDevFile(folder, file),
        Console.log(banner(file, returnNote(returnPort, port), path, config.store))
      )
      return Layer.effectDiscard(announce).pipe(
        Layer.provide(Layer.merge(listenersLayer(server), workerLayer)),
        Layer.provide(Layer.succeed(SampleOrganization)(sampleOrganizationOf(config, file))),
        Layer.provide(Layer.effectDiscard(putOrganizations(file, returnOriginsOf(file, existing))))
      )
    })
  )
  yield* announceNewDatabase(config)
  return yield* service.pipe(
    Layer.provide(returning),
    Layer.provide(portsLayer(server, { migrations: "run" })),
    Layer.provide([JsonLog.layer(config.logLevel), Tracing.layer]),
    Layer.launch
  )
})
