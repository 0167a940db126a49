import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { IdentityAlgorithm, IdentitySettings, Organization } from "@svc/domain/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import { isRegistrableReturnOrigin } from "@svc/domain/ReturnUrl"
import { parseTarget } from "@svc/domain/WebhookTarget"
import { keySetFault } from "@svc/identity-jwt/IdentityKey"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { isJsonObject } from "@svc/protocol/Json"
import { parseStrictJson } from "@svc/protocol/StrictJson"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { environmentConfig, helpOf, SETTINGS_OF } from "../Config.ts"
import { badUsage, type StartFault } from "../StartFault.ts"
import { needed, type Options, oneOf, readOptions, refuseUnless } from "./CommandOptions.ts"
import type { StoreCommand } from "./StoreCommand.ts"

const ALGORITHMS: ReadonlyArray<IdentityAlgorithm> = ["ES256", "EdDSA", "PS256", "RS256"]
const ENROLMENTS: ReadonlyArray<Organization["passkeyEnrolment"]> = ["FIRST_USE", "CALLER_ALLOWED"]
const MAX_GRACE_SECONDS = 3600

const CREATE_OPTIONS = {
  name: "one",
  "billing-account": "one",
  "return-origin": "many",
  "report-grace-seconds": "one",
  "passkey-enrolment": "one",
  "identity-issuer": "one",
  "identity-audience": "one",
  "identity-jwks-uri": "one",
  "identity-jwks": "one",
  "identity-algorithm": "many"
} as const

/** Longest name of an organization, in code points: end users read it. */
const MAX_NAME_CHARACTERS = 255

type CreateOptions = Options<typeof CREATE_OPTIONS>

const readKeySet = Effect.fnUntraced(function* (
  path: string,
  algorithms: ReadonlyArray<IdentityAlgorithm>
): Effect.fn.Return<{ readonly keys: ReadonlyArray<object> }, StartFault> {
  const read = yield* Effect.tryPromise({
    try: async () => parseStrictJson(await readFile(path)),
    catch: () => badUsage(`--identity-jwks: ${path} cannot be read`)
  })
  const keys = Result.isSuccess(read) && isJsonObject(read.success) ? read.success.keys : undefined
  if (!Array.isArray(keys) || keys.length === 0) {
    return yield* badUsage(
      '--identity-jwks must name a file with a key set of public keys, as JSON: {"keys": [...]}'
    )
  }
  const fault = yield* keySetFault(keys, algorithms)
  yield* refuseUnless(fault === undefined, `--identity-jwks: ${fault}`)
  return { keys: keys as ReadonlyArray<object> }
})

const keysOf = Effect.fnUntraced(function* (
  options: CreateOptions,
  algorithms: ReadonlyArray<IdentityAlgorithm>,
  loopbackAllowed: boolean
): Effect.fn.Return<IdentitySettings["keys"], StartFault> {
  const { "identity-jwks": path, "identity-jwks-uri": jwksUri } = options
  if (path !== undefined && jwksUri === undefined) return { jwks: yield* readKeySet(path, algorithms) }
  if (
    path === undefined &&
    jwksUri !== undefined &&
    parseTarget(jwksUri, { loopbackAllowed }) !== undefined
  ) {
    return { jwksUri }
  }
  return yield* badUsage(
    "one of --identity-jwks and an https --identity-jwks-uri, to a host name without a user name, says where the keys are"
  )
})

const identityOf = Effect.fnUntraced(function* (
  options: CreateOptions,
  environment: Organization["environment"]
): Effect.fn.Return<IdentitySettings | undefined, StartFault> {
  const isAbsent = Object.entries(options).every(
    ([name, value]) => !name.startsWith("identity-") || value === undefined || value.length === 0
  )
  if (isAbsent) return undefined
  const { "identity-algorithm": named } = options
  const algorithms = yield* Effect.forEach(named.length === 0 ? ["ES256"] : named, (name) =>
    oneOf(ALGORITHMS, name, "identity-algorithm")
  )
  return {
    issuer: yield* needed(options["identity-issuer"], "identity-issuer"),
    audience: yield* needed(options["identity-audience"], "identity-audience"),
    algorithms,
    keys: yield* keysOf(options, algorithms, environment === "test")
  }
})

/** A live organization states how late outcomes may be reported; a test one need not (part 5). */
const graceOf = Effect.fnUntraced(function* (
  text: string | undefined,
  environment: Organization["environment"]
): Effect.fn.Return<number, StartFault> {
  if (text === undefined && environment === "test") return 0
  const stated = yield* needed(text, "report-grace-seconds")
  const seconds = /^\d{1,4}$/u.test(stated) ? Number(stated) : Number.NaN
  yield* refuseUnless(seconds <= MAX_GRACE_SECONDS, "--report-grace-seconds must be 0 to 3600")
  return seconds
})

const settingsOf = Effect.fnUntraced(function* (
  options: CreateOptions,
  environment: Organization["environment"]
): Effect.fn.Return<Omit<Organization, "id">, StartFault> {
  const { "billing-account": billingAccountReference, "return-origin": returnOrigins } = options
  yield* refuseUnless(
    returnOrigins.every((origin) => isRegistrableReturnOrigin(origin, environment === "test")),
    "--return-origin must be an https origin such as https://shop.example"
  )
  const identity = yield* identityOf(options, environment)
  const name = yield* needed(options.name, "name")
  yield* refuseUnless(
    [...name].length <= MAX_NAME_CHARACTERS && !/\p{Cc}/u.test(name),
    `--name must have at most ${MAX_NAME_CHARACTERS} characters and no control characters`
  )
  return {
    environment,
    name,
    ...(billingAccountReference === undefined ? {} : { billingAccountReference }),
    ...(identity === undefined ? {} : { identity }),
    returnOrigins,
    reportGraceSeconds: yield* graceOf(options["report-grace-seconds"], environment),
    passkeyEnrolment: yield* oneOf(
      ENROLMENTS,
      options["passkey-enrolment"] ?? "FIRST_USE",
      "passkey-enrolment"
    )
  }
})

/** As it is printed. */
const shown = (organization: Organization): object => {
  const { identity } = organization
  return {
    organization_id: organization.id,
    environment: organization.environment,
    name: organization.name,
    billing_account_reference: organization.billingAccountReference,
    identity: identity && {
      issuer: identity.issuer,
      audience: identity.audience,
      algorithms: identity.algorithms,
      ...("jwks" in identity.keys ? { jwks: identity.keys.jwks } : { jwks_uri: identity.keys.jwksUri })
    },
    return_origins: organization.returnOrigins,
    report_grace_seconds: organization.reportGraceSeconds,
    passkey_enrolment: organization.passkeyEnrolment
  }
}

/** The organization that `--organization` names. */
export const findOrganization = Effect.fnUntraced(function* (id: string) {
  const organizations = yield* Organizations
  const found = yield* organizations.find(id)
  return found ?? (yield* badUsage("--organization names none of the store"))
})

const create: StoreCommand = {
  name: "organization create",
  summary: "makes an organization",
  help: helpOf(
    `svc organization create --name <name>: makes an organization, and prints it.

  --billing-account <reference>      needed for live keys
  --return-origin <origin>...        where approvals may return to, such as https://shop.example
  --report-grace-seconds <0-3600>    how late an outcome may be reported; default 0, to be stated for live
  --passkey-enrolment <how>          when an end user without a passkey may create one while approving: FIRST_USE
                                     (default), until the first is made, or CALLER_ALLOWED, only where the identity
                                     assertion carries "svc_enrol": true, which is needed anyway once the last was
                                     retired
  --identity-issuer <iss>            who vouches for end users; goes with the next two
  --identity-audience <aud>
  --identity-jwks-uri <address>      where its public keys are, kept for 5 minutes; or --identity-jwks <file>, a key set
  --identity-algorithm <alg>...      ES256 (default), EdDSA, PS256, RS256`,
    SETTINGS_OF.storeAndEnvironment
  ),
  read: Effect.fnUntraced(function* (words) {
    const settings = yield* settingsOf(yield* readOptions(CREATE_OPTIONS, words), yield* environmentConfig)
    return Effect.gen(function* () {
      const organizations = yield* Organizations
      const { now } = yield* organizations.listApiKeys("")
      const milliseconds = Number(now / NANOS_PER_MILLISECOND)
      const organization: Organization = {
        id: formatIdentifier("org_", milliseconds, randomBytes(IDENTIFIER_RANDOM_BYTES)),
        ...settings
      }
      return {
        organization: organization.id,
        act: Effect.as(organizations.put(organization), shown(organization))
      }
    })
  })
}

const show: StoreCommand = {
  name: "organization show",
  summary: "prints an organization and its settings",
  help: helpOf(
    "svc organization show --organization <id>: prints an organization and its settings.",
    SETTINGS_OF.store
  ),
  read: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ organization: "one" }, words)
    const id = yield* needed(options.organization, "organization")
    return Effect.map(findOrganization(id), (organization) => ({
      organization: id,
      act: Effect.succeed(shown(organization))
    }))
  })
}

export const organizationCommands: ReadonlyArray<StoreCommand> = [create, show]
