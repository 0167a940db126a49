import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { allowsLocalhostReturn, isRegistrableReturnOrigin } from "@svc/domain/approval/ReturnUrl"
import {
  IDENTITY_ALGORITHMS,
  type IdentityAlgorithm,
  type IdentitySettings,
  isOrganizationName,
  type Organization,
  REPORT_GRACE_MAX_SECONDS
} from "@svc/domain/organization/Organization"
import { OrganizationDirectory } from "@svc/domain/ports/OrganizationDirectory"
import { Organizations } from "@svc/domain/ports/Organizations"
import { parseTarget } from "@svc/domain/webhook/WebhookTarget"
import { keySetFault } from "@svc/identity-jwt/IdentityKey"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { isJsonObject } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { environmentConfig, loopbackConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { type StartFault, usageFault, validateAll } from "../start/StartFault.ts"
import {
  limitOption,
  type Options,
  oneOf,
  readOptions,
  refuseUnless,
  requiredOption
} from "./CommandOptions.ts"
import { listTable } from "./ListTable.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/** When an end user without a passkey may create one, as options name it. */
export const ENROLMENTS: ReadonlyArray<Organization["passkeyEnrolment"]> = ["FIRST_USE", "CALLER_ALLOWED"]

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

type SettingOptions = Options<typeof SETTING_OPTIONS>

/** What the settings of an organization depend on. */
interface DeploymentRules {
  readonly environment: Organization["environment"]
  /** Whether a key set may be fetched from a loopback address. */
  readonly loopbackAllowed: boolean
}

/** Refuses a key set that has a weak key, or none for the algorithms. */
const checkKeySet = Effect.fnUntraced(function* (
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
    catch: () => usageFault(`--identity-jwks: ${path} cannot be read`)
  })
  const keys = Result.isSuccess(read) && isJsonObject(read.success) ? read.success.keys : undefined
  if (!Array.isArray(keys) || keys.length === 0) {
    return yield* usageFault(
      '--identity-jwks must name a file with a key set of public keys, as JSON: {"keys": [...]}'
    )
  }
  yield* checkKeySet(keys, algorithms)
  return { keys: keys as ReadonlyArray<object> }
})

const KEYS_FAULT =
  "one of --identity-jwks and an https --identity-jwks-uri, to a host name without a user name, says where the keys are (on this machine: with SVC_WEBHOOK_ALLOW_LOOPBACK=true, in the test environment)"

/** The key set that the options name, if any. */
const keysOf = Effect.fnUntraced(function* (
  { "identity-jwks": path, "identity-jwks-uri": jwksUri }: SettingOptions,
  algorithms: ReadonlyArray<IdentityAlgorithm>,
  loopbackAllowed: boolean
): Effect.fn.Return<IdentitySettings["keys"] | undefined, StartFault> {
  if (path === undefined && jwksUri === undefined) return undefined
  if (path !== undefined && jwksUri !== undefined) return yield* usageFault(KEYS_FAULT)
  if (path !== undefined) return { jwks: yield* readKeySet(path, algorithms) }
  const isValid = parseTarget(jwksUri ?? "", { loopbackAllowed }) !== undefined
  return isValid ? { jwksUri: jwksUri ?? "" } : yield* usageFault(KEYS_FAULT)
})

/** The present identity settings with those of the options in their place. */
const identityOf = Effect.fnUntraced(function* (
  options: SettingOptions,
  { loopbackAllowed }: DeploymentRules,
  present: IdentitySettings | undefined
): Effect.fn.Return<IdentitySettings | undefined, StartFault> {
  const isAbsent = Object.entries(options).every(
    ([name, value]) => !name.startsWith("identity-") || value === undefined || value.length === 0
  )
  if (isAbsent) return present
  const { "identity-algorithm": named } = options
  const algorithms: Effect.Effect<ReadonlyArray<IdentityAlgorithm>, StartFault> = named.length === 0
    ? Effect.succeed(present?.algorithms ?? ["ES256"])
    : Effect.forEach(named, (name) => oneOf(IDENTITY_ALGORITHMS, name, "identity-algorithm"))
  // An invalid algorithm is reported by itself; the keys are then checked against every algorithm.
  const allowed = Effect.orElseSucceed(algorithms, () => IDENTITY_ALGORITHMS)
  return yield* validateAll({
    issuer: requiredOption(options["identity-issuer"] ?? present?.issuer, "identity-issuer"),
    audience: requiredOption(options["identity-audience"] ?? present?.audience, "identity-audience"),
    algorithms,
    keys: Effect.flatMap(allowed, (some) => keysOf(options, some, loopbackAllowed)).pipe(
      Effect.flatMap((keys = present?.keys) =>
        keys === undefined ? Effect.fail(usageFault(KEYS_FAULT)) : Effect.succeed(keys)
      ),
      // Keys that stay must suit newly named algorithms, too.
      Effect.tap((keys) =>
        "jwks" in keys ? Effect.flatMap(allowed, (some) => checkKeySet(keys.jwks.keys, some)) : Effect.void
      )
    )
  })
})

const graceOf = (text: string): Effect.Effect<number, StartFault> => {
  const seconds = /^\d{1,4}$/u.test(text) ? Number(text) : Number.NaN
  return seconds <= REPORT_GRACE_MAX_SECONDS
    ? Effect.succeed(seconds)
    : Effect.fail(usageFault(`--report-grace-seconds must be 0 to ${REPORT_GRACE_MAX_SECONDS}`))
}

const nameOf = (text: string): Effect.Effect<string, StartFault> =>
  isOrganizationName(text)
    ? Effect.succeed(text)
    : Effect.fail(usageFault("--name must have at most 255 characters and no control characters"))

const returnOriginsOf = (
  origins: ReadonlyArray<string>,
  environment: Organization["environment"]
): Effect.Effect<ReadonlyArray<string>, StartFault> =>
  origins.every((origin) => isRegistrableReturnOrigin(origin, allowsLocalhostReturn(environment)))
    ? Effect.succeed(origins)
    : Effect.fail(usageFault("--return-origin must be an https origin such as https://shop.example"))

/** The present settings, if any, with those of the options in their place. */
const settingsOf = Effect.fnUntraced(function* (
  options: SettingOptions,
  rules: DeploymentRules,
  present?: Organization
): Effect.fn.Return<Omit<Organization, "id">, StartFault> {
  const { environment } = rules
  const { "return-origin": origins } = options
  const billingAccountReference = options["billing-account"] ?? present?.billingAccountReference
  // A live organization must state its grace period (part 5).
  const grace = options["report-grace-seconds"] ?? (environment === "test" ? "0" : undefined)
  const enrolment = options["passkey-enrolment"] ?? present?.passkeyEnrolment ?? "FIRST_USE"
  const { identity, ...others } = yield* validateAll({
    name: Effect.flatMap(requiredOption(options.name ?? present?.name, "name"), nameOf),
    identity: identityOf(options, rules, present?.identity),
    returnOrigins:
      present !== undefined && origins.length === 0
        ? Effect.succeed(present.returnOrigins)
        : returnOriginsOf(origins, environment),
    reportGraceSeconds:
      present !== undefined && options["report-grace-seconds"] === undefined
        ? Effect.succeed(present.reportGraceSeconds)
        : Effect.flatMap(requiredOption(grace, "report-grace-seconds"), graceOf),
    passkeyEnrolment: oneOf(ENROLMENTS, enrolment, "passkey-enrolment")
  })
  return {
    environment,
    ...others,
    ...(billingAccountReference === undefined ? {} : { billingAccountReference }),
    ...(identity === undefined ? {} : { identity })
  }
})

/** The printed form of an organization. */
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
  return found ?? (yield* usageFault("--organization names none of the store"))
})

/** Settings that are invalid under these rules are invalid in every deployment. */
const LAXEST_RULES: DeploymentRules = { environment: "test", loopbackAllowed: true }

const readRules = validateAll({ environment: environmentConfig, loopbackAllowed: loopbackConfig })

const OPTIONS_HELP = `  --billing-account <reference>      required for live API keys
  --return-origin <origin>...        origins that approvals may return to, such as https://shop.example
  --report-grace-seconds <0-3600>    how late an outcome may be reported; default 0, required in the live environment
  --passkey-enrolment <how>          when an end user without a passkey may create one while approving: FIRST_USE
                                     (default), if they never had one, or CALLER_ALLOWED, only if the identity assertion
                                     has "svc_enrol": true, which is also required once the last one was retired
  --identity-issuer <iss>            issuer of identity assertions; requires the audience and the keys
  --identity-audience <aud>
  --identity-jwks-uri <address>      its key set, cached for 5 minutes; or --identity-jwks <file>
  --identity-algorithm <alg>...      ES256 (default), EdDSA, PS256, RS256`

const create: StoreCommand = {
  name: "organization create",
  makesFolder: () => true,
  help: helpOf(
    `svc organization create --name <name>: creates an organization and prints it.

${OPTIONS_HELP}

Example:

  svc organization create --name Shop --return-origin https://shop.example --identity-issuer https://id.example \\
    --identity-audience svc --identity-jwks-uri https://id.example/jwks.json`,
    SETTINGS_OF.organization
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions(SETTING_OPTIONS, words)
    // A missing environment is reported together with what is invalid in every environment.
    const rules = yield* Effect.result(readRules)
    const { settings } = yield* validateAll({
      settings: settingsOf(
        options,
        Result.getOrElse(rules, () => LAXEST_RULES)
      ),
      rules: Effect.fromResult(rules)
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
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ organization: "one" }, words)
    const id = yield* requiredOption(options.organization, "organization")
    return Effect.map(findOrganization(id), (organization) => ({
      organization: id,
      act: Effect.succeed(shown(organization))
    }))
  })
}

const DEFAULT_LISTED = 100
const MAX_LISTED = 1000

const list: StoreCommand = {
  name: "organization list",
  help: helpOf(
    `svc organization list: lists the organizations of the deployment, oldest first. A table on a terminal, else JSON.

  --limit <1-${MAX_LISTED}>   how many; default ${DEFAULT_LISTED}
  --cursor <text>    next_cursor of the page before
  --json             JSON on a terminal too

Example: svc organization list --json | jq -r .data[].organization_id`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    const { cursor, limit: given } = yield* readOptions({ limit: "one", cursor: "one" }, words)
    const limit = yield* limitOption(given, { byDefault: DEFAULT_LISTED, most: MAX_LISTED })
    return Effect.map(OrganizationDirectory, (directory) => ({
      organization: "",
      act: Effect.map(directory.list(cursor, limit + 1), (found) => {
        const data = found.slice(0, limit)
        const hasMore = found.length > limit
        return { data: data.map(shown), has_more: hasMore, next_cursor: hasMore ? data.at(-1)?.id : null }
      })
    }))
  }),
  terminalTextOf: listTable([
    ["ORGANIZATION", "organization_id"],
    ["NAME", "name"],
    ["ENVIRONMENT", "environment"],
    ["BILLING ACCOUNT", "billing_account_reference"],
    ["RETURN ORIGINS", "return_origins"]
  ])
}

const update: StoreCommand = {
  name: "organization update",
  help: helpOf(
    `svc organization update --organization <id>: changes the given settings, keeps the others and prints all of them. Servers
apply them at once. An option that may be repeated replaces all previous values.

  --name <name>
${OPTIONS_HELP}

Example: svc organization update --organization org_... --return-origin https://shop.example --return-origin https://shop.test`,
    SETTINGS_OF.organization
  ),
  plan: Effect.fnUntraced(function* (words) {
    const { organization: named, ...options } = yield* readOptions(
      { organization: "one", ...SETTING_OPTIONS },
      words
    )
    const isEmpty = Object.values(options).every((value) => value === undefined || value.length === 0)
    const { id, rules } = yield* validateAll({
      id: requiredOption(named, "organization"),
      change: refuseUnless(!isEmpty, "no setting is named; see --help"),
      rules: readRules
    })
    return Effect.gen(function* () {
      const present = yield* findOrganization(id)
      yield* refuseUnless(
        present.environment === rules.environment,
        "the organization is of another environment"
      )
      const organization = { id, ...(yield* settingsOf(options, rules, present)) }
      const organizations = yield* Organizations
      return { organization: id, act: Effect.as(organizations.put(organization), shown(organization)) }
    })
  })
}

export const organizationCommands: ReadonlyArray<StoreCommand> = [create, list, update, show]
