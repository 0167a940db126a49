import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { allowsLocalhostReturn, isRegistrableReturnOrigin } from "@svc/domain/approval/ReturnUrl"
import type { IdentityAlgorithm, IdentitySettings, Organization } from "@svc/domain/organization/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import { parseTarget } from "@svc/domain/webhook/WebhookTarget"
import { keySetFault } from "@svc/identity-jwt/IdentityKey"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { isJsonObject } from "@svc/protocol/Json"
import { parseStrictJson } from "@svc/protocol/StrictJson"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { environmentConfig, helpOf, loopbackConfig, SETTINGS_OF } from "../config/Config.ts"
import { allOf, badUsage, type StartFault } from "../start/StartFault.ts"
import { needed, type Options, oneOf, readOptions, refuseUnless } from "./CommandOptions.ts"
import type { StoreCommand } from "./StoreCommand.ts"

const ALGORITHMS: ReadonlyArray<IdentityAlgorithm> = ["ES256", "EdDSA", "PS256", "RS256"]
const ENROLMENTS: ReadonlyArray<Organization["passkeyEnrolment"]> = ["FIRST_USE", "CALLER_ALLOWED"]
const MAX_GRACE_SECONDS = 3600

const SETTING_OPTIONS = {
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

type SettingOptions = Options<typeof SETTING_OPTIONS>

/** The deployment that serves the organization, as far as its settings must suit it. */
interface Surroundings {
  readonly environment: Organization["environment"]
  /** Whether the keys of identity assertions may be at an address of this machine. */
  readonly loopbackAllowed: boolean
}

/** Refuses a key set with a weak key, or without one for the algorithms. */
const suits = Effect.fnUntraced(function* (
  keys: ReadonlyArray<object>,
  algorithms: ReadonlyArray<IdentityAlgorithm>
): Effect.fn.Return<void, StartFault> {
  const fault = yield* keySetFault(keys, algorithms)
  yield* refuseUnless(fault === undefined, `--identity-jwks: ${fault}`)
})

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
  yield* suits(keys, algorithms)
  return { keys: keys as ReadonlyArray<object> }
})

const KEYS_FAULT =
  "one of --identity-jwks and an https --identity-jwks-uri, to a host name without a user name, says where the keys are (on this machine: with SVC_WEBHOOK_ALLOW_LOOPBACK=true, in the test environment)"

/** Where the options say that the keys are, if they do. */
const keysOf = Effect.fnUntraced(function* (
  { "identity-jwks": path, "identity-jwks-uri": jwksUri }: SettingOptions,
  algorithms: ReadonlyArray<IdentityAlgorithm>,
  loopbackAllowed: boolean
): Effect.fn.Return<IdentitySettings["keys"] | undefined, StartFault> {
  if (path === undefined && jwksUri === undefined) return undefined
  if (path !== undefined && jwksUri !== undefined) return yield* badUsage(KEYS_FAULT)
  if (path !== undefined) return { jwks: yield* readKeySet(path, algorithms) }
  const isSound = parseTarget(jwksUri ?? "", { loopbackAllowed }) !== undefined
  return isSound ? { jwksUri: jwksUri ?? "" } : yield* badUsage(KEYS_FAULT)
})

/** The identity settings that the options say, over those there are. */
const identityOf = Effect.fnUntraced(function* (
  options: SettingOptions,
  { loopbackAllowed }: Surroundings,
  present: IdentitySettings | undefined
): Effect.fn.Return<IdentitySettings | undefined, StartFault> {
  const isAbsent = Object.entries(options).every(
    ([name, value]) => !name.startsWith("identity-") || value === undefined || value.length === 0
  )
  if (isAbsent) return present
  const { "identity-algorithm": named } = options
  const algorithms: Effect.Effect<ReadonlyArray<IdentityAlgorithm>, StartFault> = named.length === 0
    ? Effect.succeed(present?.algorithms ?? ["ES256"])
    : Effect.forEach(named, (name) => oneOf(ALGORITHMS, name, "identity-algorithm"))
  // A bad name among them is told by itself, beside what is wrong with the keys.
  const allowed = Effect.orElseSucceed(algorithms, () => ALGORITHMS)
  return yield* allOf({
    issuer: needed(options["identity-issuer"] ?? present?.issuer, "identity-issuer"),
    audience: needed(options["identity-audience"] ?? present?.audience, "identity-audience"),
    algorithms,
    keys: Effect.flatMap(allowed, (some) => keysOf(options, some, loopbackAllowed)).pipe(
      Effect.flatMap((keys = present?.keys) =>
        keys === undefined ? Effect.fail(badUsage(KEYS_FAULT)) : Effect.succeed(keys)
      ),
      // Keys that stay must suit the algorithms that are named anew.
      Effect.tap((keys) =>
        "jwks" in keys ? Effect.flatMap(allowed, (some) => suits(keys.jwks.keys, some)) : Effect.void
      )
    )
  })
})

const graceOf = (text: string): Effect.Effect<number, StartFault> => {
  const seconds = /^\d{1,4}$/u.test(text) ? Number(text) : Number.NaN
  return seconds <= MAX_GRACE_SECONDS
    ? Effect.succeed(seconds)
    : Effect.fail(badUsage(`--report-grace-seconds must be 0 to ${MAX_GRACE_SECONDS}`))
}

const nameOf = (text: string): Effect.Effect<string, StartFault> =>
  [...text].length <= MAX_NAME_CHARACTERS && !/\p{Cc}/u.test(text)
    ? Effect.succeed(text)
    : Effect.fail(
        badUsage(`--name must have at most ${MAX_NAME_CHARACTERS} characters and no control characters`)
      )

const returnOriginsOf = (
  origins: ReadonlyArray<string>,
  environment: Organization["environment"]
): Effect.Effect<ReadonlyArray<string>, StartFault> =>
  origins.every((origin) => isRegistrableReturnOrigin(origin, allowsLocalhostReturn(environment)))
    ? Effect.succeed(origins)
    : Effect.fail(badUsage("--return-origin must be an https origin such as https://shop.example"))

/** The settings that the options say, over those there are, if any. */
const settingsOf = Effect.fnUntraced(function* (
  options: SettingOptions,
  surroundings: Surroundings,
  present?: Organization
): Effect.fn.Return<Omit<Organization, "id">, StartFault> {
  const { environment } = surroundings
  const { "return-origin": origins } = options
  const billingAccountReference = options["billing-account"] ?? present?.billingAccountReference
  // A live organization states how late outcomes may be reported; a test one need not (part 5).
  const grace = options["report-grace-seconds"] ?? (environment === "test" ? "0" : undefined)
  const enrolment = options["passkey-enrolment"] ?? present?.passkeyEnrolment ?? "FIRST_USE"
  const { identity, ...others } = yield* allOf({
    name: Effect.flatMap(needed(options.name ?? present?.name, "name"), nameOf),
    identity: identityOf(options, surroundings, present?.identity),
    returnOrigins:
      present !== undefined && origins.length === 0
        ? Effect.succeed(present.returnOrigins)
        : returnOriginsOf(origins, environment),
    reportGraceSeconds:
      present !== undefined && options["report-grace-seconds"] === undefined
        ? Effect.succeed(present.reportGraceSeconds)
        : Effect.flatMap(needed(grace, "report-grace-seconds"), graceOf),
    passkeyEnrolment: oneOf(ENROLMENTS, enrolment, "passkey-enrolment")
  })
  return {
    environment,
    ...others,
    ...(billingAccountReference === undefined ? {} : { billingAccountReference }),
    ...(identity === undefined ? {} : { identity })
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

/** What suits no deployment at all does not suit these either. */
const ANY: Surroundings = { environment: "test", loopbackAllowed: true }

const readSurroundings = allOf({ environment: environmentConfig, loopbackAllowed: loopbackConfig })

const OPTIONS_HELP = `  --billing-account <reference>      needed for live keys
  --return-origin <origin>...        where approvals may return to, such as https://shop.example
  --report-grace-seconds <0-3600>    how late an outcome may be reported; default 0, to be stated for live
  --passkey-enrolment <how>          when an end user without a passkey may create one while approving: FIRST_USE
                                     (default), until the first is made, or CALLER_ALLOWED, only where the identity
                                     assertion carries "svc_enrol": true, which is needed anyway once the last was
                                     retired
  --identity-issuer <iss>            who vouches for end users; goes with the next two
  --identity-audience <aud>
  --identity-jwks-uri <address>      where its public keys are, kept for 5 minutes; or --identity-jwks <file>, a key set
  --identity-algorithm <alg>...      ES256 (default), EdDSA, PS256, RS256`

const create: StoreCommand = {
  name: "organization create",
  help: helpOf(
    `svc organization create --name <name>: makes an organization, and prints it.

${OPTIONS_HELP}`,
    SETTINGS_OF.organization
  ),
  read: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions(SETTING_OPTIONS, words)
    // Where the environment is missing, that is told beside what is wrong in any environment.
    const surroundings = yield* Effect.result(readSurroundings)
    const { settings } = yield* allOf({
      settings: settingsOf(
        options,
        Result.getOrElse(surroundings, () => ANY)
      ),
      surroundings: Effect.fromResult(surroundings)
    })
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

const update: StoreCommand = {
  name: "organization update",
  help: helpOf(
    `svc organization update --organization <id>: changes the settings that are given and leaves the others, and prints all.
Servers follow at once. Options that may be given several times replace all values there are.

  --name <name>
${OPTIONS_HELP}`,
    SETTINGS_OF.organization
  ),
  read: Effect.fnUntraced(function* (words) {
    const { organization: named, ...options } = yield* readOptions(
      { organization: "one", ...SETTING_OPTIONS },
      words
    )
    const isNothing = Object.values(options).every((value) => value === undefined || value.length === 0)
    const { id, surroundings } = yield* allOf({
      id: needed(named, "organization"),
      change: refuseUnless(!isNothing, "no setting is named; see --help"),
      surroundings: readSurroundings
    })
    return Effect.gen(function* () {
      const present = yield* findOrganization(id)
      yield* refuseUnless(
        present.environment === surroundings.environment,
        "the organization is of another environment"
      )
      const organization = { id, ...(yield* settingsOf(options, surroundings, present)) }
      const organizations = yield* Organizations
      return { organization: id, act: Effect.as(organizations.put(organization), shown(organization)) }
    })
  })
}

export const organizationCommands: ReadonlyArray<StoreCommand> = [create, update, show]
