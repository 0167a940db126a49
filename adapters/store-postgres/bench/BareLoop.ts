import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
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
  /** The first and the last of the streams of which each pair takes one by chance; by default each client has its own. */
  readonly streams?: readonly [number, number]
  /** Before the time that counts, while sessions prepare their statements; by default none. */
  readonly warmUpSeconds?: number
}

/** What the clients of a loop did in the time that counts. */
export interface BarePairs {
  readonly pairsOfClients: ReadonlyArray<number>
  /** How long each pair took, in milliseconds. */
  readonly milliseconds: ReadonlyArray<number>
  /** With those before and after that time. */
  readonly allPairs: number
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
const MANDATE = "mandate = 'mnd_' || (:m)::text"
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
  values ('org', 'mnd_' || (:m)::text, :s_seq + 1, 1, 'evt_' || (:r)::text, 'authorization.${row}', :event);
`

const reserve = (
  schema: string
): string => `${shared(schema, "reserve", "8000000000000000000 + :r", ["", AUTHORIZATION])}
insert into ${schema}.claim (organization, kind, name, fingerprint, resource)
  values ('org', 'commitment', ${KEY}, '', ${AUTHORIZATION});
insert into ${schema}.authorization_row
  (organization, authorization_id, mandate, ordinal, state, expires_at, reservation, record)
  values ('org', ${AUTHORIZATION}, 'mnd_' || (:m)::text, :r, 'RESERVED', 1, :reservation, :record);
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
const script = ({ schema, streams }: BareRun): string =>
  `\\set r random(1, 1000000000000000)
\\set m ${streams === undefined ? ":client_id" : `random(${streams.join(", ")})`}
${reserve(schema)}${commit(schema)}`

/** Statements that make the streams that the loop works on. */
export const bareStreams = (schema: string, clients: number, { snapshot }: RowSizes): string =>
  `insert into ${schema}.stream
    (organization, mandate, revision, seq, hash, occurred_at, bytes, schema, state, subject, snapshot)
  select 'org', 'mnd_' || n, 1, 1, 'hash', 1, 1, 1, 'ACTIVE', 'subject', repeat('s', ${snapshot})
  from generate_series(0, ${clients - 1}) as n on conflict do nothing`

const LOG = "pairs"

/** A line of the log is: client, number of the pair, microseconds, number of the script, its end in seconds and microseconds. */
const readLog = (folder: string): ReadonlyArray<ReadonlyArray<number>> =>
  readdirSync(folder)
    .filter((name) => name.startsWith(`${LOG}.`))
    .flatMap((name) => readFileSync(join(folder, name), "latin1").split("\n"))
    .filter((line) => line !== "")
    .map((line) => line.split(" ").map(Number))

const countPairs = (
  lines: ReadonlyArray<ReadonlyArray<number>>,
  { clients, seconds, warmUpSeconds = 0 }: BareRun
): BarePairs => {
  const pairsOfClients = Array.from({ length: clients }, () => 0)
  const milliseconds: Array<number> = []
  const endOf = (line: ReadonlyArray<number>) => line[4]! + line[5]! / 1_000_000
  const begun = lines.reduce((least, line) => Math.min(least, endOf(line) - line[2]! / 1_000_000), Infinity)
  const from = begun + warmUpSeconds
  for (const line of lines) {
    if (endOf(line) < from || endOf(line) > from + seconds) continue
    pairsOfClients[line[0]!]! += 1
    milliseconds.push(line[2]! / 1000)
  }
  return { pairsOfClients, milliseconds, allPairs: lines.length }
}

interface Run {
  readonly log: ReadonlyArray<ReadonlyArray<number>>
  readonly output: string
}

/** Runs `pgbench` with prepared statements. */
const runPgbench = async (pgbench: string, run: BareRun): Promise<Run> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-"))
  const file = join(folder, "pair.sql")
  writeFileSync(file, script(run))
  const texts = { hash: HASH_LENGTH, ...run.sizes }
  const variables = Object.entries(texts).flatMap(([name, size]) => ["-D", `${name}=${"x".repeat(size)}`])
  const child = spawn(
    pgbench,
    [
      ...["-n", "-M", "prepared", "-f", file, "-c", String(run.clients), "-j", "1"],
      ...["-l", "--log-prefix", join(folder, LOG)],
      ...["-T", String(run.seconds + (run.warmUpSeconds ?? 0)), ...variables, run.url]
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
  const log = readLog(folder)
  rmSync(folder, { recursive: true, force: true })
  return { log, output }
}

/** Pairs of `pgbench`, of which there must be some. */
export const barePairs = async (pgbench: string, run: BareRun): Promise<BarePairs> => {
  const { log, output } = await runPgbench(pgbench, run)
  if (log.length === 0) throw new Error(`pgbench did not run: ${output.slice(0, 2000)}`)
  return countPairs(log, run)
}

/** Pairs per second of `pgbench`. */
export const bareLoop = async (pgbench: string, run: BareRun): Promise<number> => {
  const { output } = await runPgbench(pgbench, run)
  const found = /tps = ([\d.]+) \(without/u.exec(output) ?? /tps = ([\d.]+)/u.exec(output)
  if (found === null && !output.includes("actually processed: 0"))
    throw new Error(`pgbench did not run: ${output.slice(0, 2000)}`)
  return Number(found?.[1] ?? 0)
}
