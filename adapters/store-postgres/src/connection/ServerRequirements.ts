import { Data, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** The first version whose statements and settings this store was written for. */
const LEAST_VERSION = 15

/** Difference of `server_version_num` between major versions. */
const VERSION_UNIT = 10_000

/** The database can be reached but is not fit for the store. No retry helps. */
export class DatabaseUnsuitable extends Data.TaggedError("DatabaseUnsuitable")<{
  /** The reasons, each a sentence that tells the operator what to do. */
  readonly faults: ReadonlyArray<string>
}> {}

const ASK = `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
  current_setting('session_replication_role') as replication_role,
  current_setting('synchronous_commit') as synchronous_commit`

interface ServerRow {
  readonly version: string
  readonly encoding: string
  readonly replication_role: string
  readonly synchronous_commit: string
}

/** Values of `synchronous_commit` that put an acknowledged write on the disks of the server and its standbys. */
export const isDurable = (synchronousCommit: string): boolean =>
  synchronousCommit === "on" || synchronousCommit === "remote_apply"

const faultsOf = (row: ServerRow): ReadonlyArray<string> => [
  ...(Number(row.version) < LEAST_VERSION * VERSION_UNIT
    ? [
        `The server is PostgreSQL ${Math.trunc(Number(row.version) / VERSION_UNIT)}: use ${LEAST_VERSION} or later.`
      ]
    : []),
  ...(row.encoding === "UTF8"
    ? []
    : [`The encoding of the database is ${row.encoding}: create one with encoding 'UTF8'.`]),
  ...(row.replication_role === "origin"
    ? []
    : [
        `session_replication_role is ${row.replication_role}, under which triggers do not fire: reset it for this role and database.`
      ]),
  ...(isDurable(row.synchronous_commit)
    ? []
    : [
        `synchronous_commit is ${row.synchronous_commit} although the connection asks for on: a pooler in between that drops startup parameters must pass it.`
      ])
]

/** Fails when the client's database cannot keep what the store acknowledges. */
export const refuseUnsuitable = (client: SqlClient): Effect.Effect<void, DatabaseUnsuitable | SqlError> =>
  Effect.flatMap(client.unsafe<ServerRow>(ASK), ([row]) => {
    const faults = faultsOf(row!)
    return faults.length === 0 ? Effect.void : Effect.fail(new DatabaseUnsuitable({ faults }))
  })
