import type { ClockFacts, ConnectionFacts, ServerFacts } from "@svc/store-postgres/diagnosis/ServerFacts"
import { type Check, failed, ok, skipped, warning } from "./Check.ts"

/** The database as it was found, and whether it runs inside the process. */
export interface FoundServer extends ServerFacts {
  readonly isEmbedded: boolean
}

const VERSION_UNIT = 10_000
const FIRST_VERSION = 15
const LAST_TRIED_VERSION = 18

export const versionCheck: Check<FoundServer> = {
  name: "database.version",
  judge: ({ release, version }) => {
    const major = Math.trunc(version / VERSION_UNIT)
    if (major < FIRST_VERSION) {
      return failed(`PostgreSQL ${release}`, `use PostgreSQL ${FIRST_VERSION} to ${LAST_TRIED_VERSION}`)
    }
    return major > LAST_TRIED_VERSION
      ? warning(
          `PostgreSQL ${release}, which this release was not tried with`,
          `use PostgreSQL ${FIRST_VERSION} to ${LAST_TRIED_VERSION}, or a later release of this service`
        )
      : ok(`PostgreSQL ${release}`)
  }
}

export const encodingCheck: Check<FoundServer> = {
  name: "database.encoding",
  judge: ({ encoding }) =>
    encoding === "UTF8"
      ? ok("UTF8")
      : failed(`the encoding is ${encoding}`, "create a database with encoding 'UTF8' and name that one")
}

const EMBEDDED_DURABILITY =
  "embedded databases run without it: acknowledged writes survive the end of the process, not a power cut"

/** Settings of the server without which a crash loses acknowledged writes. */
const durability = (setting: "fsync" | "full_page_writes"): Check<FoundServer> => ({
  name: `database.${setting}`,
  judge: ({ isEmbedded, [setting]: value }) => {
    if (value === "on") return ok("on")
    return isEmbedded
      ? warning(EMBEDDED_DURABILITY, "use a Postgres server where that matters")
      : failed(
          `${setting} is ${value}: a power cut loses acknowledged writes`,
          `set ${setting} = on and reload the server`
        )
  }
})

export const fsyncCheck = durability("fsync")
export const fullPageWritesCheck = durability("full_page_writes")

export const synchronousCommitCheck: Check<FoundServer> = {
  name: "database.synchronous_commit",
  judge: ({ isEmbedded, synchronous_commit: value }) => {
    if (isEmbedded) return skipped("it means nothing to an embedded database")
    return value === "on" || value === "remote_apply"
      ? ok(value)
      : failed(
          `sessions have ${value} although they ask for on: a crash loses acknowledged writes`,
          "let what is between this machine and the server pass startup parameters on, or name the server itself"
        )
  }
}

export const writableCheck: Check<FoundServer> = {
  name: "database.writable",
  judge: ({ is_read_only: isReadOnly, is_replica: isReplica }) => {
    if (isReplica) return failed("it is a replica", "name the primary, or promote this one")
    return isReadOnly
      ? failed(
          "sessions are read-only",
          "reset default_transaction_read_only for the role, the database and the server"
        )
      : ok("it takes writes")
  }
}

export const replicationRoleCheck: Check<FoundServer> = {
  name: "database.triggers",
  judge: ({ replication_role: value }) =>
    value === "origin"
      ? ok("triggers fire")
      : failed(
          `session_replication_role is ${value}, under which triggers do not fire`,
          "reset it for this role and this database"
        )
}

export const roleCheck: Check<FoundServer> = {
  name: "database.role",
  judge: ({ is_superuser: isSuperuser, isEmbedded, role }) => {
    if (isEmbedded) return skipped("an embedded database has one user")
    return isSuperuser
      ? warning(
          `${role} is a superuser: whoever has SVC_STORE has the whole server`,
          "give the service a role of its own that owns its schema and nothing else"
        )
      : ok(`${role}, no superuser`)
  }
}

/** What a session asked for and what it has, by setting. */
export interface SessionFacts {
  readonly asked: Readonly<Record<string, string>>
  readonly given: ReadonlyMap<string, string>
}

export const sessionCheck: Check<SessionFacts> = {
  name: "database.session",
  judge: ({ asked, given }) => {
    const ignored = Object.keys(asked).filter((name) => given.get(name) !== asked[name])
    return ignored.length === 0
      ? ok("sessions have the settings that they ask for")
      : failed(
          `sessions do not have the ${ignored.join(", ")} that they ask for, as behind PgBouncer with ignore_startup_parameters`,
          "name the server itself: each process keeps a pool of its own, of 20 connections at most"
        )
  }
}

export const poolerCheck: Check<boolean> = {
  name: "database.pooler",
  judge: (isShared) =>
    isShared
      ? failed(
          "one connection is served by several sessions of the server, as behind PgBouncer in transaction mode",
          "name the server itself, or a pool in session mode that passes startup parameters on"
        )
      : ok("a connection is a session of the server")
}

/** Clocks that differ by more than this are worth a look, and by more than that break what others sign with theirs. */
const SKEW_WARNING_MS = 2000
const SKEW_FAILURE_MS = 60_000
const MILLISECONDS_PER_SECOND = 1000

export const clockCheck: Check<ClockFacts> = {
  name: "database.clock",
  judge: ({ ahead, uncertainty }) => {
    const least = Math.abs(ahead) - uncertainty
    const seconds = (Math.abs(ahead) / MILLISECONDS_PER_SECOND).toFixed(1)
    const found = `the clock of the database is ${seconds} s ${ahead < 0 ? "behind" : "ahead of"} this machine's`
    const remedy =
      "synchronize both with NTP; the database's decides, so correct that one slowly (slew, do not step)"
    if (least > SKEW_FAILURE_MS) return failed(found, remedy)
    return least > SKEW_WARNING_MS ? warning(found, remedy) : ok(found)
  }
}

/** Most connections of one process (reads and writes). */
const CONNECTIONS_PER_PROCESS = 20

export const connectionsCheck: Check<ConnectionFacts> = {
  name: "database.connections",
  judge: ({ most, used }) => {
    const found = `${used} of ${most} connections are in use`
    return most - used < CONNECTIONS_PER_PROCESS
      ? warning(
          `${found}; another process may open ${CONNECTIONS_PER_PROCESS}`,
          "raise max_connections, or the limit of the database or the role, or end sessions that nobody needs"
        )
      : ok(found)
  }
}

/** What one row about server, database and role tells. */
export const SERVER_CHECKS: ReadonlyArray<Check<FoundServer>> = [
  versionCheck,
  encodingCheck,
  fsyncCheck,
  fullPageWritesCheck,
  synchronousCommitCheck,
  writableCheck,
  replicationRoleCheck,
  roleCheck
]
