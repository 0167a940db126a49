import { formatNanos } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { isRecorded } from "../history/RecordedEvent.ts"
import { inSchema } from "../Migrations.ts"
import { rowsOf } from "./Question.ts"

/** An event that the other database has and this one has not. */
export interface MissingEvent {
  readonly seq: number
  readonly event_id: string
  readonly type: string
}

/** A mandate of which the other database has events that this one has not. */
export interface MissingMandate {
  readonly organization_id: string
  readonly mandate_id: string
  readonly events_there: number
  /** 0: the mandate itself is missing. */
  readonly events_here: number
  /** Whether this database has recorded other events in the place of those that are missing. */
  readonly has_diverged: boolean
  readonly missing: ReadonlyArray<MissingEvent>
}

/** An authorization that is missing here, or has another state here. */
export interface MissingAuthorization {
  readonly organization_id: string
  readonly mandate_id: string
  readonly authorization_id: string
  readonly state_there: string
  readonly state_here: string | null
}

/** A command of an operator that is not in the record of this database. */
export interface MissingCommand {
  /** Empty for a command on the whole deployment. */
  readonly organization_id: string
  /** When it was recorded, by the clock of the other database, as an RFC 3339 timestamp. */
  readonly at: string
  readonly operator: string
  readonly command: string
  /** Its other words, without secrets. */
  readonly arguments: ReadonlyArray<string>
}

/** What another database has and this one has not, such as a lost primary and the standby that took its place. */
export interface MissingRecords {
  readonly mandates_compared: number
  readonly mandates: ReadonlyArray<MissingMandate>
  readonly authorizations: ReadonlyArray<MissingAuthorization>
  /** Those that may have changed something, oldest first, the order in which they are repeated. */
  readonly operator_commands: ReadonlyArray<MissingCommand>
}

/** Mandates that are compared at once. */
const PAGE_MANDATES = 1000

/** Commands of operators that are compared, the last ones. */
const MAX_COMMANDS = 10_000

const HEADS = `select s.organization, s.mandate, s.seq::text as seq, e.id as event
  from {schema}.stream s join {schema}.event e
    on e.organization = s.organization and e.mandate = s.mandate and e.seq = s.seq
  where (s.organization, s.mandate) > ($1, $2) order by s.organization, s.mandate limit ${PAGE_MANDATES}`

const LACKING = `select h.organization, h.mandate
  from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as h(organization, mandate, seq, event)
  where not ${isRecorded}`

const EVENTS = `select e.seq::int as seq, e.id as event_id, e.type from {schema}.event e
  where e.organization = $1 and e.mandate = $2 order by e.seq`

const AUTHORIZATIONS = `select a.authorization_id, a.state from {schema}.authorization_row a
  where a.organization = $1 and a.mandate = $2 order by a.ordinal`

const COMMANDS = `select l.entry, l.organization as organization_id, l.at::text as at, l.operator, l.command, l.arguments
  from {schema}.operator_log l where l.command <> all ($1::text[]) order by l.at desc, l.entry desc limit ${MAX_COMMANDS}`

const PRESENT_COMMANDS = "select l.entry from {schema}.operator_log l where l.entry = any ($1::text[])"

interface Head {
  readonly organization: string
  readonly mandate: string
  readonly seq: string
  readonly event: string
}

interface Authorization {
  readonly authorization_id: string
  readonly state: string
}

/** The two databases, each with the schema that its tables are in. */
export interface Compared {
  readonly here: SqlClient
  readonly there: SqlClient
  readonly schema: string
  /** Commands of operators that only read, of which nothing can be missing. */
  readonly reading: ReadonlyArray<string>
}

interface CommandRow {
  readonly entry: string
  readonly organization_id: string
  readonly at: string
  readonly operator: string
  readonly command: string
  readonly arguments: string
}

const inOneMandate = (
  { here, schema, there }: Compared,
  { mandate, organization }: Omit<Head, "seq" | "event">
) =>
  Effect.gen(function* () {
    const place = [organization, mandate]
    const named = { organization_id: organization, mandate_id: mandate }
    const had = yield* rowsOf<MissingEvent>(there, inSchema(EVENTS, schema), place)
    const has = yield* rowsOf<MissingEvent>(here, inSchema(EVENTS, schema), place)
    const present = new Set(has.map(({ event_id: id }) => id))
    const missing = had.filter(({ event_id: id }) => !present.has(id))
    const before = yield* rowsOf<Authorization>(there, inSchema(AUTHORIZATIONS, schema), place)
    const now = yield* rowsOf<Authorization>(here, inSchema(AUTHORIZATIONS, schema), place)
    const states = new Map(now.map(({ authorization_id: id, state }) => [id, state]))
    return {
      mandate: {
        ...named,
        events_there: had.length,
        events_here: has.length,
        has_diverged: has.length > had.length - missing.length,
        missing
      },
      authorizations: before
        .filter(({ authorization_id: id, state }) => states.get(id) !== state)
        .map(({ authorization_id: id, state }) => ({
          ...named,
          authorization_id: id,
          state_there: state,
          state_here: states.get(id) ?? null
        }))
    }
  })

const missingCommands = ({ here, reading, schema, there }: Compared) =>
  Effect.gen(function* () {
    const had = yield* rowsOf<CommandRow>(there, inSchema(COMMANDS, schema), [reading])
    const entries = had.map(({ entry }) => entry)
    const found = yield* rowsOf<{ readonly entry: string }>(here, inSchema(PRESENT_COMMANDS, schema), [
      entries
    ])
    const present = new Set(found.map(({ entry }) => entry))
    return had
      .filter(({ entry }) => !present.has(entry))
      .map(
        ({ arguments: given, at, entry: _, ...command }): MissingCommand => ({
          ...command,
          at: formatNanos(BigInt(at)),
          arguments: JSON.parse(given)
        })
      )
      .toReversed()
  })

/** Reads the mandates of both databases, page by page, and what they hold of those that differ. */
export const missingRecords = (compared: Compared): Effect.Effect<MissingRecords, SqlError> =>
  Effect.gen(function* () {
    const { here, schema, there } = compared
    const mandates: Array<MissingMandate> = []
    const authorizations: Array<MissingAuthorization> = []
    let count = 0
    let after: readonly [string, string] = ["", ""]
    for (;;) {
      const heads = yield* rowsOf<Head>(there, inSchema(HEADS, schema), after)
      count += heads.length
      const lacking = yield* rowsOf<Omit<Head, "seq" | "event">>(here, inSchema(LACKING, schema), [
        heads.map(({ organization }) => organization),
        heads.map(({ mandate }) => mandate),
        heads.map(({ seq }) => seq),
        heads.map(({ event }) => event)
      ])
      for (const place of lacking) {
        const found = yield* inOneMandate(compared, place)
        mandates.push(found.mandate)
        authorizations.push(...found.authorizations)
      }
      const last = heads.at(-1)
      if (last === undefined || heads.length < PAGE_MANDATES) break
      after = [last.organization, last.mandate]
    }
    return {
      mandates_compared: count,
      mandates,
      authorizations,
      operator_commands: yield* missingCommands(compared)
    }
  })
