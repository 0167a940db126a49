import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { formatApiKey } from "@svc/domain/organization/ApiKey"
import { jwkThumbprint } from "@svc/protocol/evidence/JwkThumbprint"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES, OrganizationId } from "@svc/protocol/Identifier"
import { Clock, Effect, Redacted, Schema } from "effect"
import { fileFault, readOwnFile } from "../config/SecretFile.ts"
import { configurationFault, type StartFault } from "../start/StartFault.ts"

/** Name of the file in the development server's folder. */
export const DEV_FILE_NAME = "dev.json"

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

const API_KEY_BYTES = 32

const IdentityJwk = Schema.Struct({
  kty: Schema.Literal("EC"),
  crv: Schema.Literal("P-256"),
  alg: Schema.Literal("ES256"),
  kid: Schema.String,
  x: Schema.String,
  y: Schema.String,
  d: Schema.String
})

const Tenant = { organization_id: OrganizationId, api_key: Schema.String }

/** The file with the keys and addresses of the development server, kept across restarts. */
export const DevFile = Schema.Struct({
  base_url: Schema.String,
  approval_base_url: Schema.String,
  ...Tenant,
  identity: Schema.Struct({ issuer: Schema.String, audience: Schema.String, private_jwk: IdentityJwk }),
  return_origin: Schema.String,
  second_organization: Schema.Struct(Tenant)
})
export type DevFile = typeof DevFile.Type

/** The addresses of the listeners. */
export type Addresses = Pick<DevFile, "base_url" | "approval_base_url" | "return_origin">

const makeTenant = (milliseconds: number) => ({
  organization_id: formatIdentifier(
    "org_",
    milliseconds,
    randomBytes(IDENTIFIER_RANDOM_BYTES)
  ) as OrganizationId,
  api_key: Redacted.value(formatApiKey("test", randomBytes(API_KEY_BYTES)))
})

const makeIdentityJwk = (): typeof IdentityJwk.Type => {
  const { d, x, y } = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" })
  const point = { kty: "EC", crv: "P-256", x: x!, y: y! } as const
  return { ...point, alg: "ES256", kid: jwkThumbprint(point), d: d! }
}

const makeDevFile = (addresses: Addresses, milliseconds: number): DevFile => ({
  ...addresses,
  ...makeTenant(milliseconds),
  identity: { issuer: "https://identity.dev.invalid", audience: "svc-dev", private_jwk: makeIdentityJwk() },
  second_organization: makeTenant(milliseconds)
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(DevFile))

const readExisting = (
  path: string,
  read: (path: string) => Promise<string>
): Effect.Effect<DevFile | undefined, StartFault> =>
  Effect.gen(function* () {
    const text = yield* Effect.tryPromise({
      try: () => read(path).catch(ifMissing),
      catch: (error) => fileFault(path, error, `${path} cannot be read`)
    })
    if (text === undefined) return undefined
    return yield* Effect.mapError(decode(text), () =>
      configurationFault(
        `${path} is not a file of the development server; move it away to have a new one created`
      )
    )
  })

/** Reads the file of the folder, if there is one. */
export const findDevFile = (folder: string): Effect.Effect<DevFile | undefined, StartFault> =>
  readExisting(join(folder, DEV_FILE_NAME), (path) => readFile(path, "utf8"))

/** Reads the file as the server does, which also restricts its mode to its owner. */
export const findOwnDevFile = (folder: string): Effect.Effect<DevFile | undefined, StartFault> =>
  readExisting(join(folder, DEV_FILE_NAME), readOwnFile)

const ifMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== "ENOENT") throw error
}

/** Replaces the file atomically. */
const replace = async (folder: string, path: string, file: DevFile): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  const next = `${path}.${randomUUID()}`
  await writeFile(next, `${JSON.stringify(file, null, 2)}\n`, { mode: FILE_MODE, flag: "wx" })
  await rename(next, path)
}

/** The existing file with the present addresses, or a new one. Identifiers, API keys and the identity key never change. */
export const devFileWith = (existing: DevFile | undefined, addresses: Addresses): Effect.Effect<DevFile> =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    existing === undefined ? makeDevFile(addresses, now) : { ...existing, ...addresses }
  )

/** Writes the file with a mode that lets only its owner read it. */
export const writeDevFile = (folder: string, file: DevFile): Effect.Effect<void, StartFault> => {
  const path = join(folder, DEV_FILE_NAME)
  return Effect.tryPromise({
    try: () => replace(folder, path, file),
    catch: () => configurationFault(`${path} cannot be written`)
  })
}
