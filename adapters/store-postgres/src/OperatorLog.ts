import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Context, Effect } from "effect"
import { type PostgresClients, statement } from "./PostgresClients.ts"
import { CLOCK } from "./PostgresReads.ts"
import { guarded } from "./StoreFault.ts"

/** A command that an operator gave. */
export interface OperatorEntry {
  /** Empty where the command is about the whole deployment. */
  readonly organization: string
  /** Distinguishes entries of one instant; unique. */
  readonly entry: string
  /** Who gave it, as far as the machine knows. */
  readonly operator: string
  /** `organization create` */
  readonly command: string
  /** As given, without secrets. */
  readonly arguments: ReadonlyArray<string>
}

const RECORD = `insert into {schema}.operator_log (organization, at, entry, operator, command, arguments)
values ($1::text, ${CLOCK}, $2::text, $3::text, $4::text, $5::text)`

/** What operators did to the store, and when by its clock (part 9). */
export class OperatorLog extends Context.Service<
  OperatorLog,
  {
    /** Recorded before the command is carried out, so that nothing happens unrecorded. */
    readonly record: (entry: OperatorEntry) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/store-postgres/OperatorLog") {}

export const makeOperatorLog = ({ schema, writes }: PostgresClients): OperatorLog["Service"] => {
  const record = statement(writes, schema, RECORD)
  return {
    record: ({ arguments: given, command, entry, operator, organization }) =>
      Effect.asVoid(guarded(record([organization, entry, operator, command, JSON.stringify(given)])))
  }
}
