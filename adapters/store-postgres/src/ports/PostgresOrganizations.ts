import type { ApiKey, Organization } from "@svc/domain/organization/Organization"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { FoundApiKey, Organizations } from "@svc/domain/ports/Organizations"
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { makeSharedReads } from "../connection/SharedReads.ts"
import { guarded } from "../connection/StoreFault.ts"
import { isStorable, readPlain, writePlain } from "../RecordCodec.ts"
import { CLOCK } from "./PostgresReads.ts"

const FIND = "select o.record from {schema}.organization o where o.organization = $1::text"

const PUT = `insert into {schema}.organization (organization, record) values ($1::text, $2::text)
on conflict (organization) do update set record = excluded.record`

const FIND_KEY = `select ${CLOCK} as clock, k.record as api_key, k.last_used_at, o.record as organization
from {schema}.api_key_secret f
  join {schema}.api_key k on k.organization = f.organization and k.api_key = f.api_key and k.hash = f.hash
  join {schema}.organization o on o.organization = f.organization
where f.hash = $1::text`

const FIND_KEYS = `select ${CLOCK} as clock, k.hash, k.record as api_key, k.last_used_at, o.record as organization
from unnest($1::text[]) asked (hash)
  cross join lateral (
    select f.hash, f.organization, f.api_key from {schema}.api_key_secret f where f.hash = asked.hash offset 0
  ) f
  join {schema}.api_key k on k.organization = f.organization and k.api_key = f.api_key and k.hash = f.hash
  join {schema}.organization o on o.organization = f.organization`

/** Most look-ups of keys that share a statement. */
const MAX_SHARED_KEY_LOOKUPS = 256

const LIST_KEYS = `select clock.now as clock, k.api_key, k.record, k.last_used_at
from (select ${CLOCK} as now) clock
  left join {schema}.api_key k on k.organization = $1::text order by k.api_key`

const USE_KEY = `update {schema}.api_key k set last_used_at = ${CLOCK}
where k.organization = $1::text and k.api_key = $2::text
  and (k.last_used_at is null or k.last_used_at < $3::bigint)`

const PUT_KEY = "select from {schema}.put_api_key($1::text, $2::text, $3::text, $4::text)"

interface KeyRow {
  readonly clock: bigint
  readonly api_key: string
  readonly last_used_at: bigint | null
  readonly organization: string
}

/** One of the keys. An organization without keys gives a row with the clock alone. */
interface KeysRow {
  readonly clock: bigint
  readonly api_key: string | null
  readonly record: string
  readonly last_used_at: bigint | null
}

const foundOf = ({ api_key, clock, last_used_at, organization }: KeyRow): FoundApiKey => ({
  now: clock,
  apiKey: readPlain<ApiKey>(api_key),
  organization: readPlain<Organization>(organization),
  ...(last_used_at === null ? {} : { lastUsedAt: last_used_at })
})

const listOf = (rows: ReadonlyArray<KeysRow>) => {
  const keys = rows.filter(({ api_key }) => api_key !== null)
  return {
    now: rows[0]!.clock,
    apiKeys: keys.map(({ record }) => readPlain<ApiKey>(record)),
    lastUsedAt: new Map(
      keys.flatMap(({ api_key, last_used_at }) =>
        last_used_at === null ? [] : [[api_key!, last_used_at] as const]
      )
    )
  }
}

/** A secret must not identify two keys: a hash that another key has is a defect. */
const dieOfSharedHash = (error: SqlError): Effect.Effect<never, SqlError> =>
  error.reason._tag === "UniqueViolation"
    ? Effect.die(new Error("the hash is of another API key"))
    : Effect.fail(error)

export const makeOrganizations = ({
  reads,
  schema,
  server,
  writes
}: PostgresClients): Organizations["Service"] => {
  const find = statement<{ readonly record: string }>(reads, schema, FIND)
  const findKey = statement<KeyRow>(reads, schema, FIND_KEY)
  const findKeys = statement<KeyRow & { readonly hash: string }>(reads, schema, FIND_KEYS)
  const findApiKey = makeSharedReads<string, FoundApiKey | undefined, StoreUnavailable>({
    least: 2,
    limit: MAX_SHARED_KEY_LOOKUPS,
    alone: (hash) =>
      guarded(Effect.map(findKey([hash]), ([row]) => (row === undefined ? undefined : foundOf(row)))),
    together: (hashes) =>
      Effect.flatMap(guarded(findKeys([[...new Set(hashes)]])), (rows) => {
        const byHash = new Map(rows.map((row) => [row.hash, row]))
        return Effect.forEach(hashes, (hash) => {
          const row = byHash.get(hash)
          return Effect.exit(guarded(Effect.sync(() => (row === undefined ? undefined : foundOf(row)))))
        })
      })
  })
  const listKeys = statement<KeysRow>(reads, schema, LIST_KEYS)
  const useKey = statement(server?.polls ?? writes, schema, USE_KEY)
  const put = statement(writes, schema, PUT)
  const putKey = statement(writes, schema, PUT_KEY)
  return {
    find: (organization) =>
      isStorable(organization)
        ? guarded(
            Effect.map(find([organization]), ([row]) =>
              row === undefined ? undefined : readPlain<Organization>(row.record)
            )
          )
        : Effect.succeed(undefined),
    findApiKey: (hash) => (isStorable(hash) ? findApiKey(hash) : Effect.succeed(undefined)),
    listApiKeys: (organization) =>
      guarded(Effect.map(listKeys([isStorable(organization) ? organization : ""]), listOf)),
    recordApiKeyUse: ({ apiKey, organization, since }) =>
      Effect.asVoid(guarded(useKey([organization, apiKey, String(since)]))),
    put: (organization) => Effect.asVoid(guarded(put([organization.id, writePlain(organization)]))),
    putApiKey: (apiKey) =>
      putKey([apiKey.organizationId, apiKey.id, apiKey.hash, writePlain(apiKey)]).pipe(
        Effect.catch(dieOfSharedHash),
        guarded,
        Effect.asVoid
      )
  }
}
