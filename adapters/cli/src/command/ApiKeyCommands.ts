import { randomBytes } from "node:crypto"
import { API_KEY_BYTES, apiKeyRecord, formatApiKey } from "@svc/domain/organization/ApiKey"
import { API_KEY_SCOPES, type ApiKey } from "@svc/domain/organization/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { formatInstant, type Instant, NANOS_PER_MILLISECOND, parseTimestamp } from "@svc/protocol/Timestamp"
import { Effect, Redacted } from "effect"
import { environmentConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { usageFault, validateAll } from "../start/StartFault.ts"
import { oneOf, readOptions, refuseUnless, requiredOption } from "./CommandOptions.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/** The printed form of a key, without its hash. */
const shown = (apiKey: ApiKey, lastUsedAt?: Instant): object => ({
  api_key_id: apiKey.id,
  scopes: apiKey.scopes,
  created_at: apiKey.createdAt,
  expires_at: apiKey.expiresAt,
  revoked_at: apiKey.revokedAt,
  last_used_at: lastUsedAt === undefined ? undefined : formatInstant(lastUsedAt)
})

const create: StoreCommand = {
  name: "api-key create",
  help: helpOf(
    `svc api-key create --organization <id>: creates an API key. It is printed once; the store keeps its hash.

  --scope <scope>...         read, write, webhooks; default all
  --expires-at <timestamp>   such as 2030-01-01T00:00:00Z`,
    SETTINGS_OF.storeAndEnvironment
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ organization: "one", scope: "many", "expires-at": "one" }, words)
    const { scope, "expires-at": expiresAt } = options
    const { environment, id, scopes } = yield* validateAll({
      scopes: Effect.forEach(scope, (name) => oneOf(API_KEY_SCOPES, name, "scope")),
      expiresAt: refuseUnless(
        expiresAt === undefined || parseTimestamp(expiresAt) !== undefined,
        "--expires-at must be a timestamp such as 2030-01-01T00:00:00Z"
      ),
      environment: environmentConfig,
      id: requiredOption(options.organization, "organization")
    })
    return Effect.gen(function* () {
      const organization = yield* findOrganization(id)
      yield* refuseUnless(
        organization.environment === environment,
        "the organization is of another environment"
      )
      yield* refuseUnless(
        environment === "test" || organization.billingAccountReference !== undefined,
        `a live key needs a billing account; name it with: svc organization update --organization ${organization.id} --billing-account <reference>`
      )
      const organizations = yield* Organizations
      const { now } = yield* organizations.listApiKeys(organization.id)
      const key = formatApiKey(environment, randomBytes(API_KEY_BYTES))
      const milliseconds = Number(now / NANOS_PER_MILLISECOND)
      const record = apiKeyRecord({
        id: formatIdentifier("key_", milliseconds, randomBytes(IDENTIFIER_RANDOM_BYTES)),
        organizationId: organization.id,
        key,
        createdAt: formatInstant(now),
        ...(scopes.length === 0 ? {} : { scopes }),
        ...(expiresAt === undefined ? {} : { expiresAt })
      })
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

The time of last use is accurate to the hour.`,
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
  })
}

const revoke: StoreCommand = {
  name: "api-key revoke",
  help: helpOf(
    `svc api-key revoke --organization <id> --api-key <id>: revokes an API key for good.

Every process looks a key up for each request, so the key admits no further request once this returns; requests admitted
in the second before still complete.`,
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
      const { apiKeys, now } = yield* organizations.listApiKeys(organization)
      const apiKey = apiKeys.find(({ id }) => id === named)
      if (apiKey === undefined)
        return yield* usageFault("no API key of this organization has that id; svc api-key list shows them")
      const revoked: ApiKey = { ...apiKey, revokedAt: apiKey.revokedAt ?? formatInstant(now) }
      return { organization, act: Effect.as(organizations.putApiKey(revoked), shown(revoked)) }
    })
  })
}

export const apiKeyCommands: ReadonlyArray<StoreCommand> = [create, list, revoke]
