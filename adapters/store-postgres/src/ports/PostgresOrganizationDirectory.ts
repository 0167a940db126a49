import type { Organization } from "@svc/domain/organization/Organization"
import type { OrganizationDirectory } from "@svc/domain/ports/OrganizationDirectory"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { readPlain } from "../RecordCodec.ts"

const LIST = `select o.record from {schema}.organization o where o.organization > $1::text
order by o.organization limit $2::bigint`

export const makeOrganizationDirectory = ({
  reads,
  schema
}: PostgresClients): OrganizationDirectory["Service"] => {
  const list = statement<{ readonly record: string }>(reads, schema, LIST)
  return {
    list: (after, limit) =>
      guarded(
        Effect.map(list([after ?? "", String(limit)]), (rows) =>
          rows.map(({ record }) => readPlain<Organization>(record))
        )
      )
  }
}
