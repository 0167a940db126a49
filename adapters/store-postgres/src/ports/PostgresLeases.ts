import type { DueLeases, DueStream } from "@svc/domain/ports/DueLeases"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"

const TAKE = "select o_organization, o_mandate from {schema}.lease_due($1::text, $2::bigint, $3::bigint)"

const RELEASE = "select from {schema}.release_leases('due_stream', $1::text, $2::text[], $3::text[])"

interface DueRow {
  readonly o_organization: string
  readonly o_mandate: string
}

const streamOf = ({ o_mandate, o_organization }: DueRow): DueStream => ({
  organization: o_organization,
  mandate: o_mandate
})

export const makeDueLeases = ({ schema, server, writes }: PostgresClients): DueLeases["Service"] => {
  const polls = server?.polls ?? writes
  const take = statement<DueRow>(polls, schema, TAKE)
  const release = statement(polls, schema, RELEASE)
  return {
    take: ({ lasts, limit, token }) =>
      guarded(Effect.map(take([token, String(limit), String(lasts)]), (rows) => rows.map(streamOf))),
    release: ({ streams, token }) =>
      Effect.asVoid(
        guarded(
          release([
            token,
            streams.map(({ organization }) => organization),
            streams.map(({ mandate }) => mandate)
          ])
        )
      )
  }
}
