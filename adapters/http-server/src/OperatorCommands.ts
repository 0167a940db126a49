import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import type { ApiKeyScope, IdentityAlgorithm, IdentitySettings, Organization } from "@svc/domain/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import { API_KEY_BYTES, apiKeyRecord, formatApiKey } from "@svc/domain/programs/ApiKeys"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { formatInstant, NANOS_PER_MILLISECOND, parseTimestamp } from "@svc/protocol/Timestamp"
import { Clock, Console, Effect, Redacted } from "effect"
import { environmentConfig, storeConfig } from "./Config.ts"
import { badSetting, type StartFault, storeFault } from "./StartFault.ts"
import { storageLayer } from "./StoreLayer.ts"

const SCOPES: ReadonlyArray<ApiKeyScope> = ["read", "write", "webhooks"]
const ALGORITHMS: ReadonlyArray<IdentityAlgorithm> = ["ES256", "EdDSA", "PS256", "RS256"]
const ENROLMENTS: ReadonlyArray<Organization["passkeyEnrolment"]> = ["FIRST_USE", "CALLER_ALLOWED"]
const MAX_GRACE_SECONDS = 3600

/** What the commands' `--help` prints. */
export const OPERATOR_HELP = `svc organization create --name <name>
    [--billing-account <reference>]      needed for live keys
    [--return-origin <origin>]...        where approvals may return to, such as https://shop.example
    [--report-grace-seconds <0-3600>]    default 0
    [--passkey-enrolment <how>]          FIRST_USE (default) or CALLER_ALLOWED
    [--identity-issuer <iss> --identity-audience <aud> --identity-jwks-uri <https address>
     [--identity-algorithm <alg>]...]    ES256 (default), EdDSA, PS256, RS256

svc api-key create --organization <id>
    [--scope <scope>]...                 read, write, webhooks; default all
    [--expires-at <timestamp>]           the key is shown once, and kept as a hash

Both print JSON, and work on the store that SVC_STORE names, for SVC_ENVIRONMENT.
Exit codes: 0, 75 the store is in use or out of reach, 78 a setting or an option is missing or bad.
`

const isOneOf = <const A extends string>(known: ReadonlyArray<A>, text: string): text is A =>
  (known as ReadonlyArray<string>).includes(text)

/** The options of a command; an unknown one is refused. */
const optionsOf = <const A extends NonNullable<Parameters<typeof parseArgs>[0]>["options"]>(
  options: A,
  words: ReadonlyArray<string>
) =>
  Effect.try({
    try: () => parseArgs({ args: [...words], options: options!, strict: true }).values,
    catch: () => badSetting("an option is unknown or has no value; see --help")
  }) as Effect.Effect<
    Readonly<Record<string, string | ReadonlyArray<string> | boolean | undefined>>,
    StartFault
  >

const one = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined
const many = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value : [])

const refuseUnless = (isSound: boolean, line: string): Effect.Effect<void, StartFault> =>
  isSound ? Effect.void : Effect.fail(badSetting(line))

const isOrigin = (text: string): boolean =>
  URL.parse(text)?.origin === text && (text.startsWith("https://") || text.startsWith("http://localhost"))

const identityOf = Effect.fnUntraced(function* (
  values: Readonly<Record<string, unknown>>
): Effect.fn.Return<IdentitySettings | undefined, StartFault> {
  const [issuer, audience, jwksUri] = ["issuer", "audience", "jwks-uri"].map((name) =>
    one(values[`identity-${name}`])
  )
  const algorithms = many(values["identity-algorithm"])
  if (issuer === undefined && audience === undefined && jwksUri === undefined && algorithms.length === 0) {
    return undefined
  }
  if (issuer === undefined || audience === undefined || !jwksUri?.startsWith("https://")) {
    return yield* badSetting(
      "--identity-issuer, --identity-audience and an https --identity-jwks-uri go together"
    )
  }
  const known = algorithms.filter((text) => isOneOf(ALGORITHMS, text))
  yield* refuseUnless(known.length === algorithms.length, `--identity-algorithm must be of ${ALGORITHMS}`)
  return { issuer, audience, algorithms: known.length === 0 ? ["ES256"] : known, keys: { jwksUri } }
})

const createOrganization = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const text = { type: "string" } as const
  const texts = { type: "string", multiple: true } as const
  const values = yield* optionsOf(
    {
      name: text,
      "billing-account": text,
      "return-origin": texts,
      "report-grace-seconds": text,
      "passkey-enrolment": text,
      "identity-issuer": text,
      "identity-audience": text,
      "identity-jwks-uri": text,
      "identity-algorithm": texts
    },
    words
  )
  const name = one(values.name)
  if (name === undefined) return yield* badSetting("--name is missing")
  const returnOrigins = many(values["return-origin"])
  yield* refuseUnless(returnOrigins.every(isOrigin), "--return-origin must be an https origin")
  const grace = one(values["report-grace-seconds"]) ?? "0"
  const reportGraceSeconds = /^\d{1,4}$/u.test(grace) ? Number(grace) : Number.NaN
  yield* refuseUnless(reportGraceSeconds <= MAX_GRACE_SECONDS, "--report-grace-seconds must be 0 to 3600")
  const passkeyEnrolment = one(values["passkey-enrolment"]) ?? "FIRST_USE"
  if (!isOneOf(ENROLMENTS, passkeyEnrolment)) {
    return yield* badSetting(`--passkey-enrolment must be of ${ENROLMENTS}`)
  }
  const billingAccountReference = one(values["billing-account"])
  const identity = yield* identityOf(values)
  const organization: Organization = {
    id: formatIdentifier("org_", yield* Clock.currentTimeMillis, randomBytes(IDENTIFIER_RANDOM_BYTES)),
    environment: yield* environmentConfig,
    name,
    ...(billingAccountReference === undefined ? {} : { billingAccountReference }),
    ...(identity === undefined ? {} : { identity }),
    returnOrigins,
    reportGraceSeconds,
    passkeyEnrolment
  }
  const organizations = yield* Organizations
  yield* Effect.mapError(organizations.put(organization), storeFault)
  return { organization_id: organization.id, environment: organization.environment, name }
})

const createApiKey = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const values = yield* optionsOf(
    {
      organization: { type: "string" },
      scope: { type: "string", multiple: true },
      "expires-at": { type: "string" }
    },
    words
  )
  const organizations = yield* Organizations
  const environment = yield* environmentConfig
  const organization = yield* Effect.mapError(organizations.find(one(values.organization) ?? ""), storeFault)
  if (organization === undefined) return yield* badSetting("--organization names none of the store")
  yield* refuseUnless(organization.environment === environment, "the organization is of another environment")
  yield* refuseUnless(
    environment === "test" || organization.billingAccountReference !== undefined,
    "a live key needs an organization with a billing account"
  )
  const scopes = many(values.scope).filter((text) => isOneOf(SCOPES, text))
  yield* refuseUnless(scopes.length === many(values.scope).length, `--scope must be of ${SCOPES}`)
  const expiresAt = one(values["expires-at"])
  yield* refuseUnless(
    expiresAt === undefined || parseTimestamp(expiresAt) !== undefined,
    "--expires-at must be a timestamp such as 2030-01-01T00:00:00Z"
  )
  const now = yield* Clock.currentTimeMillis
  const key = formatApiKey(environment, randomBytes(API_KEY_BYTES))
  const record = apiKeyRecord({
    id: formatIdentifier("key_", now, randomBytes(IDENTIFIER_RANDOM_BYTES)),
    organizationId: organization.id,
    key,
    createdAt: formatInstant(BigInt(now) * NANOS_PER_MILLISECOND),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(expiresAt === undefined ? {} : { expiresAt })
  })
  yield* Effect.mapError(organizations.putApiKey(record), storeFault)
  return { api_key_id: record.id, scopes: record.scopes, api_key: Redacted.value(key) }
})

type Command = (words: ReadonlyArray<string>) => Effect.Effect<object, StartFault, Organizations>

const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ["organization create", createOrganization],
  ["api-key create", createApiKey]
])

/** `svc organization create` and `svc api-key create` (part 9): on the store directly, answered as JSON. */
export const operate = (words: ReadonlyArray<string>): Effect.Effect<void, StartFault> =>
  Effect.gen(function* () {
    const command = COMMANDS.get(words.slice(0, 2).join(" "))
    if (command === undefined) return yield* badSetting("unknown command; see --help")
    const store = yield* storeConfig
    if (store === "memory")
      return yield* badSetting("SVC_STORE must be a folder or a server for this command")
    const storage = storageLayer(store, { migrations: "require" })
    const answer = yield* Effect.provide(command(words.slice(2)), storage)
    yield* Console.log(JSON.stringify(answer, null, 2))
  })
