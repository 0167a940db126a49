import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Sizes of texts that the program writes, in bytes; the bare loop writes as much. */
export interface RowSizes {
  readonly snapshot: number
  readonly event: number
  readonly record: number
  readonly reservation: number
}

export interface BareRun {
  readonly url: string
  /** Quoted. */
  readonly schema: string
  readonly clients: number
  readonly seconds: number
  readonly sizes: RowSizes
}

const DEBIAN = "/usr/lib/postgresql"

/** Characters of a SHA-256 in base64url. */
const HASH_LENGTH = 43

/** Where `pgbench` is, if it is on this machine. */
export const findPgbench = (): string | undefined => {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : []
  const places = ["pgbench", ...versions.map((version) => join(DEBIAN, version, "bin", "pgbench"))]
  return places.find((place) => spawnSync(place, ["--version"]).status === 0)
}

const ORGANIZATION = "organization = 'org'"
const MANDATE = "mandate = 'mnd_' || (:client_id)::text"
const AUTHORIZATION = "'aut_' || (:r)::text || '_' || (:client_id)::text"
const KEY = "(:r)::text || '_' || (:client_id)::text"

/** What both transactions read and write: the key, the stream, what is open; then key, stream and event. */
const shared = (
  schema: string,
  row: "reserve" | "commit",
  nextDue: string,
  open: readonly [before: string, after: string]
): string => `begin;
select fingerprint, resource from ${schema}.claim
  where ${ORGANIZATION} and kind = 'idempotency_key' and name = '${row} ' || ${KEY};
select revision, seq, snapshot from ${schema}.stream where ${ORGANIZATION} and ${MANDATE} for update \\gset s_
select reservation, record from ${schema}.authorization_row
  where ${ORGANIZATION} and authorization_id = any (array[${open[0]}]::text[]);
insert into ${schema}.claim (organization, kind, name, fingerprint, resource)
  values ('org', 'idempotency_key', '${row} ' || ${KEY}, :hash, ${AUTHORIZATION});
update ${schema}.stream set revision = revision + 1, seq = seq + 1, hash = :hash, occurred_at = occurred_at + 1,
  bytes = bytes + 1, next_due = ${nextDue}, open_authorizations = array[${open[1]}]::text[], snapshot = :snapshot where ${ORGANIZATION} and ${MANDATE};
insert into ${schema}.event (organization, mandate, seq, schema, id, type, text)
  values ('org', 'mnd_' || (:client_id)::text, :s_seq + 1, 1, 'evt_' || (:r)::text, 'authorization.${row}', :event);
`

const reserve = (
  schema: string
): string => `${shared(schema, "reserve", "8000000000000000000 + :r", ["", AUTHORIZATION])}
insert into ${schema}.claim (organization, kind, name, fingerprint, resource)
  values ('org', 'commitment', ${KEY}, '', ${AUTHORIZATION});
insert into ${schema}.authorization_row
  (organization, authorization_id, mandate, ordinal, state, expires_at, reservation, record)
  values ('org', ${AUTHORIZATION}, 'mnd_' || (:client_id)::text, :r, 'RESERVED', 1, :reservation, :record);
commit;
`

const commit = (
  schema: string
): string => `${shared(schema, "commit", "9000000000000000000", [AUTHORIZATION, ""])}
select record from ${schema}.authorization_row where ${ORGANIZATION} and authorization_id = ${AUTHORIZATION};
update ${schema}.authorization_row set state = 'COMMITTED', expires_at = null, reservation = null, record = :record
  where ${ORGANIZATION} and authorization_id = ${AUTHORIZATION};
insert into ${schema}.closed_authorization (organization, mandate, state, ordinal, authorization_id)
  values ('org', 'mnd_' || (:client_id)::text, 'COMMITTED', :r, ${AUTHORIZATION});
commit;
`

/**
 * One pair: the rows that the program reads and writes, in two transactions of plain statements. The instant of the
 * next transition changes twice, as the program's does.
 */
const script = (schema: string): string =>
  `\\set r random(1, 1000000000000000)\n${reserve(schema)}${commit(schema)}`

/** Statements that make the streams that the loop works on. */
export const bareStreams = (schema: string, clients: number, { snapshot }: RowSizes): string =>
  `insert into ${schema}.stream
    (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state, subject, snapshot)
  select 'org', 'mnd_' || n, 1, 1, 'hash', 1, 1, 1, 'ACTIVE', 'subject', repeat('s', ${snapshot})
  from generate_series(0, ${clients - 1}) as n on conflict do nothing`

/** Pairs per second of `pgbench` with prepared statements. */
export const bareLoop = async (pgbench: string, run: BareRun): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-"))
  const file = join(folder, "pair.sql")
  writeFileSync(file, script(run.schema))
  const texts = { hash: HASH_LENGTH, ...run.sizes }
  const variables = Object.entries(texts).flatMap(([name, size]) => ["-D", `${name}=${"x".repeat(size)}`])
  const child = spawn(
    pgbench,
    [
      ...["-n", "-M", "prepared", "-f", file, "-c", String(run.clients), "-j", "1"],
      ...["-T", String(run.seconds), ...variables, run.url]
    ],
    { stdio: ["ignore", "pipe", "pipe"] }
  )
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk
    })
  }
  await new Promise((resolve) => child.once("close", resolve))
  rmSync(folder, { recursive: true, force: true })
  const found = /tps = ([\d.]+) \(without/u.exec(output) ?? /tps = ([\d.]+)/u.exec(output)
  if (found === null && !output.includes("actually processed: 0"))
    throw new Error(`pgbench did not run: ${output.slice(0, 2000)}`)
  return Number(found?.[1] ?? 0)
}
