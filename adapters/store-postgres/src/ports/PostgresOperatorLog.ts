import type { OperatorLog } from "@svc/domain/ports/OperatorLog"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { CLOCK } from "./PostgresReads.ts"

const RECORD = `insert into {schema}.operator_log (organization, at, entry, operator, command, arguments)
values ($1::text, ${CLOCK}, $2::text, $3::text, $4::text, $5::text)`

export const makeOperatorLog = ({ schema, writes }: PostgresClients): OperatorLog["Service"] => {
  const record = statement(writes, schema, RECORD)
  return {
    record: ({ arguments: given, command, entry, operator, organization }) =>
      Effect.asVoid(guarded(record([organization, entry, operator, command, JSON.stringify(given)])))
  }
}
