import { randomBytes } from "node:crypto"
import { join, resolve } from "node:path"
import type { Organization } from "@svc/domain/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import { apiKeyRecord } from "@svc/domain/programs/ApiKeys"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { formatInstant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { MASTER_KEY_BYTES } from "@svc/signer/SecretSealerNodeCrypto"
import { Clock, Console, Effect, Layer, Redacted } from "effect"
import { type DevConfig, devConfig, type ServerConfig, warnOfSettings } from "./Config.ts"
import { databaseFault } from "./DatabaseFault.ts"
import { DEV_FILE_NAME, type DevFile, readDevFile, writeDevFile } from "./DevFile.ts"
import * as JsonLog from "./JsonLog.ts"
import { readMasterKeyFile } from "./MasterKeyFile.ts"
import { listenersLayer, portsLayer } from "./Service.ts"
import { placeOf } from "./StoreLayer.ts"
import type { StoreSetting } from "./StoreSetting.ts"
import { workerLayer } from "./Worker.ts"

/** The memory store outlives no master key, so each start has a new one. */
const masterKeyOf = ({ store }: DevConfig, folder: string) =>
  store === "memory"
    ? Effect.sync(() => Redacted.make(new Uint8Array(randomBytes(MASTER_KEY_BYTES)), { label: "master key" }))
    : readMasterKeyFile(folder)

/** Everything that `svc serve` must be told. */
const serverConfigOf = (config: DevConfig, masterKey: Redacted.Redacted<Uint8Array>): ServerConfig => ({
  ...config,
  environment: "test",
  baseUrl: `http://localhost:${config.port}`,
  approvalBaseUrl: `http://localhost:${config.approvalPort}`,
  rpId: "localhost",
  masterKey,
  masterKeyPrevious: undefined,
  webhookLoopback: true
})

const organizationOf = (file: DevFile, id: string, name: string): Organization => {
  const { d: _, ...publicJwk } = file.identity.private_jwk
  const { audience, issuer } = file.identity
  return {
    id,
    environment: "test",
    name,
    identity: { issuer, audience, algorithms: ["ES256"], keys: { jwks: { keys: [publicJwk] } } },
    returnOrigins: [file.return_origin],
    reportGraceSeconds: 0,
    passkeyEnrolment: "FIRST_USE"
  }
}

const putTenant = Effect.fnUntraced(function* (
  file: DevFile,
  tenant: { readonly organization_id: string; readonly api_key: string },
  name: string
) {
  const organizations = yield* Organizations
  const now = yield* Clock.currentTimeMillis
  const apiKey = apiKeyRecord({
    id: formatIdentifier("key_", now, randomBytes(IDENTIFIER_RANDOM_BYTES)),
    organizationId: tenant.organization_id,
    key: Redacted.make(tenant.api_key, { label: "api_key" }),
    createdAt: formatInstant(BigInt(now) * NANOS_PER_MILLISECOND)
  })
  yield* organizations.put(organizationOf(file, tenant.organization_id, name))
  if ((yield* organizations.findApiKey(apiKey.hash)) === undefined) yield* organizations.putApiKey(apiKey)
})

const putTenants = (file: DevFile) =>
  Effect.andThen(
    putTenant(file, file, "Development organization"),
    putTenant(file, file.second_organization, "Second development organization")
  ).pipe(Effect.mapError((fault) => databaseFault(fault, undefined)))

const welcome = (file: DevFile, path: string, store: StoreSetting): string => `
Development server. Not for production: test environment, ${placeOf(store)}.

  API             ${file.base_url}
  Reference       ${file.base_url}/docs
  Approval pages  ${file.approval_base_url}
  Keys and ids    ${path}

Next: walk the whole lifecycle with "npm run quickstart", or begin by asking for your mandates.

  curl ${file.base_url}/v1/mandates -H "Authorization: Bearer $(node -p 'require("${path}").api_key')"
`

/** The development server (part 9): runs until it is interrupted. What it tells is written once it listens. */
export const devServer = Effect.gen(function* () {
  yield* warnOfSettings("dev")
  const config = yield* devConfig
  const folder = resolve(config.dataDir)
  const server = serverConfigOf(config, yield* masterKeyOf(config, folder))
  const file = yield* readDevFile(folder, {
    base_url: server.baseUrl,
    approval_base_url: server.approvalBaseUrl
  })
  const tell = Effect.andThen(
    writeDevFile(folder, file),
    Console.log(welcome(file, join(folder, DEV_FILE_NAME), config.store))
  )
  return yield* Layer.effectDiscard(tell).pipe(
    Layer.provide(Layer.merge(listenersLayer(server), workerLayer)),
    Layer.provide(Layer.effectDiscard(putTenants(file))),
    Layer.provide(portsLayer(server, { migrations: "run" })),
    Layer.provide(JsonLog.layer(config.logLevel)),
    Layer.launch
  )
})
