import type { WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { inSchema } from "../Migrations.ts"
import { readEndpoint } from "../RecordCodec.ts"
import { rowsOf } from "./Question.ts"

const ENDPOINTS = `select e.record from {schema}.webhook_endpoint e where e.status = $1::text
order by e.organization, e.endpoint limit $2::text::bigint`

/** Webhook endpoints of all organizations with a status, at most so many. */
export const storedEndpoints = (
  client: SqlClient,
  schema: string,
  query: { readonly status: WebhookEndpointState["status"]; readonly limit: number }
): Effect.Effect<ReadonlyArray<WebhookEndpointState>, SqlError> =>
  Effect.map(
    rowsOf<{ readonly record: string }>(client, inSchema(ENDPOINTS, schema), [
      query.status,
      String(query.limit)
    ]),
    (rows) => rows.map(({ record }) => readEndpoint(record))
  )
