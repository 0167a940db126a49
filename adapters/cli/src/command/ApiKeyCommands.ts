import { randomBytes } from "node:crypto"
import { isActiveApiKey, newApiKey } from "@svc/domain/organization/ApiKey"
import { API_KEY_SCOPES, type ApiKey, type Organization } from "@svc/domain/organization/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import { API_KEY_CACHE_SECONDS } from "@svc/domain/programs/ApiKeyCache"
import { formatNanos, type Instant, NANOS_PER_SECOND, parseTimestamp } from "@svc/protocol/Timestamp"
import { Effect, Redacted } from "effect"
import { environmentConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { type StartFault, usageFault, validateAll } from "../start/StartFault.ts"
import { oneOf, readOptions, refuseUnless, requiredOption } from "./CommandOptions.ts"
import { listTable } from "./ListTable.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/** A timestamp on record, which is valid. */
const instantOf = (recorded: string): Instant => parseTimestamp(recorded)!

/** The printed form of a key, without its hash. */
const shown = (apiKey: ApiKey, lastUsedAt?: Instant): object => ({
  api_key_id: apiKey.id,
  scopes: apiKey.scopes,
  created_at: formatNanos(instantOf(apiKey.createdAt)),
  expires_at: apiKey.expiresAt,
  revoked_at: apiKey.revokedAt,
  replaced_by: apiKey.replacedBy,
  last_used_at: lastUsedAt === undefined ? undefined : formatNanos(lastUsedAt)
})

const checkTimestamp = (expiresAt: string | undefined): Effect.Effect<void, StartFault> =>
  refuseUnless(
    expiresAt === undefined || parseTimestamp(expiresAt) !== undefined,
    "--expires-at must be a timestamp such as 2030-01-01T00:00:00Z"
  )

/** The organization that is to have a key of this environment. */
const findKeyHolder = Effect.fnUntraced(function* (id: string, environment: Organization["environment"]) {
  const organization = yield* findOrganization(id)
  yield* refuseUnless(organization.environment === environment, "the organization is of another environment")
  yield* refuseUnless(
    environment === "test" || organization.billingAccountReference !== undefined,
    `a live key needs a billing account; name it with: svc organization update --organization ${organization.id} --billing-account <reference>`
  )
  return organization
})

const create: StoreCommand = {
  name: "api-key create",
  help: helpOf(
    `svc api-key create --organization <id>: creates an API key. It is printed once; the store keeps its hash.

  --scope <scope>...         read, write, webhooks; default all
  --expires-at <timestamp>   such as 2030-01-01T00:00:00Z

Example: svc api-key create --organization org_... --scope read --expires-at 2030-01-01T00:00:00Z`,
    SETTINGS_OF.storeAndEnvironment
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ organization: "one", scope: "many", "expires-at": "one" }, words)
    const { scope, "expires-at": expiresAt } = options
    const { environment, id, scopes } = yield* validateAll({
      scopes: Effect.forEach(scope, (name) => oneOf(API_KEY_SCOPES, name, "scope")),
      expiresAt: checkTimestamp(expiresAt),
      environment: environmentConfig,
      id: requiredOption(options.organization, "organization")
    })
    return Effect.gen(function* () {
      const organization = yield* findKeyHolder(id, environment)
      const organizations = yield* Organizations
      const { now } = yield* organizations.listApiKeys(organization.id)
      const { key, record } = newApiKey(
        organization,
        { bytes: randomBytes, now },
        {
          ...(scopes.length === 0 ? {} : { scopes }),
          ...(expiresAt === undefined ? {} : { expiresAt })
        }
      )
      return {
        organization: organization.id,
        act: Effect.as(organizations.putApiKey(record), { ...shown(record), api_key: Redacted.value(key) })
      }
    })
  })
}

const list: StoreCommand = {
  name: "api-key list",
  help: helpOf(
    `svc api-key list --organization <id>: lists the API keys of an organization, oldest first.

The time of last use is accurate to the hour. A table on a terminal, else JSON; --json prints JSON there too.`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ organization: "one" }, words)
    const organization = yield* requiredOption(options.organization, "organization")
    return Effect.gen(function* () {
      yield* findOrganization(organization)
      const organizations = yield* Organizations
      const keys = Effect.map(organizations.listApiKeys(organization), ({ apiKeys, lastUsedAt }) => ({
        data: apiKeys.map((apiKey) => shown(apiKey, lastUsedAt.get(apiKey.id)))
      }))
      return { organization, act: keys }
    })
  }),
  terminalTextOf: listTable([
    ["API KEY", "api_key_id"],
    ["SCOPES", "scopes"],
    ["CREATED", "created_at"],
    ["EXPIRES", "expires_at"],
    ["REVOKED", "revoked_at"],
    ["REPLACED BY", "replaced_by"],
    ["LAST USED", "last_used_at"]
  ])
}

const SECONDS_OF_UNIT: Readonly<Record<string, bigint>> = { s: 1n, m: 60n, h: 3600n, d: 86_400n }

/** Longest time in which both keys are valid, in seconds: 90 days. */
const MAX_OVERLAP_SECONDS = 7_776_000n
const DEFAULT_OVERLAP = "24h"

/** A number of seconds, minutes, hours or days, in seconds. */
const overlapOf = (text = DEFAULT_OVERLAP): Effect.Effect<bigint, StartFault> => {
  const [, count = "", unit = ""] = /^(\d{1,8})([smhd])$/u.exec(text) ?? []
  const seconds = count === "" ? undefined : BigInt(count) * SECONDS_OF_UNIT[unit]!
  return seconds !== undefined && seconds <= MAX_OVERLAP_SECONDS
    ? Effect.succeed(seconds)
    : Effect.fail(usageFault("--overlap must be such as 0s, 30m, 24h or 7d, and at most 90d"))
}

/** The key as the organization has it, and the store's clock. */
const findApiKey = Effect.fnUntraced(function* (organization: string, named: string) {
  const organizations = yield* Organizations
  const { apiKeys, now } = yield* organizations.listApiKeys(organization)
  const apiKey = apiKeys.find(({ id }) => id === named)
  if (apiKey === undefined)
    return yield* usageFault("no API key of this organization has that id; svc api-key list shows them")
  return { apiKey, now }
})

/** When the key in place of another expires: after as long a life as that one was given, or never. */
const successorExpiry = ({ createdAt, expiresAt }: ApiKey, now: Instant): string | undefined =>
  expiresAt === undefined ? undefined : formatNanos(now + instantOf(expiresAt) - instantOf(createdAt))

/** When the key that is replaced expires: after the overlap, unless it would have done so before. */
const endOfOverlap = ({ expiresAt }: ApiKey, end: Instant): string =>
  expiresAt !== undefined && instantOf(expiresAt) < end ? expiresAt : formatNanos(end)

const rotate: StoreCommand = {
  name: "api-key rotate",
  help: helpOf(
    `svc api-key rotate --organization <id> --api-key <id>: creates a key with the scopes of another, which expires after the
overlap, and prints it once. Until then both are valid. The new key has as long a life as the old one was given. A key is
rotated once: one that is being replaced is refused and goes on to its end, which svc api-key revoke makes sooner.

  --overlap <time>           for how long the old key remains valid, such as 0s, 30m, 24h or 7d; default ${DEFAULT_OVERLAP}
  --expires-at <timestamp>   when the new key expires, such as 2030-01-01T00:00:00Z

Example: svc api-key rotate --organization org_... --api-key key_... --overlap 7d`,
    SETTINGS_OF.storeAndEnvironment
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions(
      { organization: "one", "api-key": "one", overlap: "one", "expires-at": "one" },
      words
    )
    const { "expires-at": expiresAt } = options
    const given = yield* validateAll({
      named: requiredOption(options["api-key"], "api-key"),
      organization: requiredOption(options.organization, "organization"),
      overlap: overlapOf(options.overlap),
      expiresAt: checkTimestamp(expiresAt),
      environment: environmentConfig
    })
    return Effect.gen(function* () {
      const organization = yield* findKeyHolder(given.organization, given.environment)
      const { apiKey, now } = yield* findApiKey(organization.id, given.named)
      yield* refuseUnless(
        isActiveApiKey(apiKey, now),
        "the key is revoked or has expired; svc api-key create makes another"
      )
      // Its end is that of an overlap: another rotation would shorten what callers were promised, and hand it on as a life.
      yield* refuseUnless(
        apiKey.replacedBy === undefined,
        `${apiKey.replacedBy} replaces this key already, which is valid until ${apiKey.expiresAt}; rotate ${apiKey.replacedBy}, or have svc api-key revoke end this one sooner`
      )
      const lastInstant = expiresAt ?? successorExpiry(apiKey, now)
      const { key, record } = newApiKey(
        organization,
        { bytes: randomBytes, now },
        {
          scopes: apiKey.scopes,
          ...(lastInstant === undefined ? {} : { expiresAt: lastInstant })
        }
      )
      const replaced: ApiKey = {
        ...apiKey,
        expiresAt: endOfOverlap(apiKey, now + given.overlap * NANOS_PER_SECOND),
        replacedBy: record.id
      }
      const organizations = yield* Organizations
      // The new key first: a failure in between leaves the old one valid.
      const act = Effect.andThen(organizations.putApiKey(record), organizations.putApiKey(replaced))
      return {
        organization: organization.id,
        act: Effect.as(act, { ...shown(record), api_key: Redacted.value(key), replaced: shown(replaced) })
      }
    })
  })
}

const revoke: StoreCommand = {
  name: "api-key revoke",
  help: helpOf(
    `svc api-key revoke --organization <id> --api-key <id>: revokes an API key for good.

Every process looks a key that is good up once in ${API_KEY_CACHE_SECONDS} seconds, so the key admits no further request
${API_KEY_CACHE_SECONDS} seconds after this returns; requests admitted before still complete.`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ organization: "one", "api-key": "one" }, words)
    const { named, organization } = yield* validateAll({
      named: requiredOption(options["api-key"], "api-key"),
      organization: requiredOption(options.organization, "organization")
    })
    return Effect.gen(function* () {
      yield* findOrganization(organization)
      const organizations = yield* Organizations
      const { apiKey, now } = yield* findApiKey(organization, named)
      const revoked: ApiKey = { ...apiKey, revokedAt: apiKey.revokedAt ?? formatNanos(now) }
      return { organization, act: Effect.as(organizations.putApiKey(revoked), shown(revoked)) }
    })
  })
}

export const apiKeyCommands: ReadonlyArray<StoreCommand> = [create, list, rotate, revoke]
