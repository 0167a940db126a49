import type { ApiKey, Organization } from "@svc/domain/Organization"
import type { Organizations } from "@svc/domain/ports/Organizations"
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { type PostgresClients, statement } from "./PostgresClients.ts"
import { CLOCK } from "./PostgresReads.ts"
import { isStorable, readPlain, writePlain } from "./RecordCodec.ts"
import { guarded } from "./StoreFault.ts"

const FIND = "select o.record from {schema}.organization o where o.organization = $1::text"

const PUT = `insert into {schema}.organization (organization, record) values ($1::text, $2::text)
on conflict (organization) do update set record = excluded.record`

const FIND_KEY = `select ${CLOCK} as clock, k.record as api_key, o.record as organization
from {schema}.api_key k join {schema}.organization o on o.organization = k.organization
where k.hash = $1::text`

const LIST_KEYS = `select clock.now as clock, array(
  select k.record from {schema}.api_key k where k.organization = $1::text order by k.api_key) as api_keys
from (select ${CLOCK} as now) clock`

const PUT_KEY = `insert into {schema}.api_key (organization, api_key, hash, record)
values ($1::text, $2::text, $3::text, $4::text)
on conflict (organization, api_key) do update set hash = excluded.hash, record = excluded.record`

interface KeyRow {
  readonly clock: bigint
  readonly api_key: string
  readonly organization: string
}

interface KeysRow {
  readonly clock: bigint
  readonly api_keys: ReadonlyArray<string>
}

/** One secret must not speak for two: a hash that another key has is a defect. */
const dieOfSharedHash = (error: SqlError): Effect.Effect<never, SqlError> =>
  error.reason._tag === "UniqueViolation"
    ? Effect.die(new Error("the hash is of another API key"))
    : Effect.fail(error)

export const makeOrganizations = ({ reads, schema, writes }: PostgresClients): Organizations["Service"] => {
  const find = statement<{ readonly record: string }>(reads, schema, FIND)
  const findKey = statement<KeyRow>(reads, schema, FIND_KEY)
  const listKeys = statement<KeysRow>(reads, schema, LIST_KEYS)
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
    findApiKey: (hash) =>
      isStorable(hash)
        ? guarded(
            Effect.map(findKey([hash]), ([row]) =>
              row === undefined
                ? undefined
                : {
                    now: row.clock,
                    apiKey: readPlain<ApiKey>(row.api_key),
                    organization: readPlain<Organization>(row.organization)
                  }
            )
          )
        : Effect.succeed(undefined),
    listApiKeys: (organization) =>
      guarded(
        Effect.map(listKeys([isStorable(organization) ? organization : ""]), ([row]) => ({
          now: row!.clock,
          apiKeys: row!.api_keys.map((record) => readPlain<ApiKey>(record))
        }))
      ),
    put: (organization) => Effect.asVoid(guarded(put([organization.id, writePlain(organization)]))),
    putApiKey: (apiKey) =>
      putKey([apiKey.organizationId, apiKey.id, apiKey.hash, writePlain(apiKey)]).pipe(
        Effect.catch(dieOfSharedHash),
        guarded,
        Effect.asVoid
      )
  }
}
