import type { OperatorLog } from "@svc/domain/ports/OperatorLog"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { CLOCK } from "./PostgresReads.ts"

const RECORD = `insert into {schema}.operator_log (organization, at, entry, operator, command, arguments)
values ($1::text, ${CLOCK}, $2::text, $3::text, $4::text, $5::text)`

const LATEST = `select l.at, l.entry, l.operator, l.command, l.arguments from {schema}.operator_log l
where l.organization = $1::text order by l.at desc, l.entry desc limit $2::bigint`

interface EntryRow {
  readonly at: bigint
  readonly entry: string
  readonly operator: string
  readonly command: string
  readonly arguments: string
}

export const makeOperatorLog = ({ reads, schema, writes }: PostgresClients): OperatorLog["Service"] => {
  const record = statement(writes, schema, RECORD)
  const latest = statement<EntryRow>(reads, schema, LATEST)
  return {
    latest: (organization, limit) =>
      Effect.map(guarded(latest([organization, String(limit)])), (rows) =>
        rows.map((row) => ({ ...row, organization, arguments: JSON.parse(row.arguments) }))
      ),
    record: ({ arguments: given, command, entry, operator, organization }) =>
      Effect.asVoid(guarded(record([organization, entry, operator, command, JSON.stringify(given)])))
  }
}
