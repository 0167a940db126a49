import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Sizes of texts that the program writes, in bytes; the bare loop writes as much. */
export interface RowSizes {
  readonly snapshot: number
  readonly event: number
  readonly record: number
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

/** Where `pgbench` is, if it is on this machine. */
export const findPgbench = (): string | undefined => {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : []
  const places = ["pgbench", ...versions.map((version) => join(DEBIAN, version, "bin", "pgbench"))]
  return places.find((place) => spawnSync(place, ["--version"]).status === 0)
}

const transaction = (schema: string, row: "reserve" | "commit"): string => `begin;
select revision, seq, snapshot from ${schema}.stream
  where organization = 'org' and mandate = 'mnd_' || (:client_id)::text for update \\gset s_
${
  row === "reserve"
    ? `insert into ${schema}.claim (organization, kind, name, fingerprint, resource)
  values ('org', 'commitment', 'c' || (:r)::text || '_' || (:client_id)::text, '', 'aut_' || (:r)::text);`
    : ""
}
insert into ${schema}.claim (organization, kind, name, fingerprint, resource)
  values ('org', 'idempotency_key', '${row} ' || (:r)::text || '_' || (:client_id)::text, :hash, 'aut_' || (:r)::text);
update ${schema}.stream set revision = revision + 1, seq = seq + 1, hash = :hash, occurred_at = occurred_at + 1,
  bytes = bytes + 1, snapshot = :snapshot where organization = 'org' and mandate = 'mnd_' || (:client_id)::text;
insert into ${schema}.event (organization, mandate, seq, schema, id, type, text)
  values ('org', 'mnd_' || (:client_id)::text, :s_seq + 1, 1, 'evt_' || (:r)::text, 'authorization.${row}', :event);
${
  row === "reserve"
    ? `insert into ${schema}.authorization_row
  (organization, authorization_id, mandate, ordinal, state, expires_at, reservation, record)
  values ('org', 'aut_' || (:r)::text || '_' || (:client_id)::text, 'mnd_' || (:client_id)::text, :r, 'RESERVED', 1,
    :hash, :record);`
    : `update ${schema}.authorization_row set state = 'COMMITTED', expires_at = null, reservation = null,
  record = :record where organization = 'org' and authorization_id = 'aut_' || (:r)::text || '_' || (:client_id)::text;`
}
commit;
`

/** One pair: reserve and commit, each the row work of the program's in a transaction of plain statements. */
const script = (schema: string): string =>
  `\\set r random(1, 1000000000000000)\n${transaction(schema, "reserve")}${transaction(schema, "commit")}`

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
  const texts = { hash: 43, snapshot: run.sizes.snapshot, event: run.sizes.event, record: run.sizes.record }
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
