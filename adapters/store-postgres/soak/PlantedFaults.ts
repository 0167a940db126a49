/** Faults put into copies of the tables: an audit that passes them by has proved nothing. */
import { type AuditInput, auditTables } from "./TableAuditor.ts"

type Row = AuditInput["events"][number]

const without = (rows: ReadonlyArray<Row>, isGone: (row: Row) => boolean): ReadonlyArray<Row> => {
  const at = rows.findIndex(isGone)
  return rows.filter((_, index) => index !== at)
}

const changed = (
  rows: ReadonlyArray<Row>,
  isMeant: (row: Row) => boolean,
  change: (row: Row) => Row
): ReadonlyArray<Row> => {
  const at = rows.findIndex(isMeant)
  return rows.map((row, index) => (index === at ? change(row) : row))
}

const isCommit = ({ type }: Row): boolean => type === "authorization.committed"

/** The highest number of the events of a mandate. */
const lastOf = (rows: ReadonlyArray<Row>, mandate: string | null | undefined): number =>
  Math.max(...rows.filter((row) => row.mandate === mandate).map(({ seq }) => Number(seq)))

const isTail = (rows: ReadonlyArray<Row>) => (row: Row) => Number(row.seq) === lastOf(rows, row.mandate)

const again = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> => {
  const commit = rows.find(isCommit)
  if (commit === undefined) return rows
  return [...rows, { ...commit, seq: String(lastOf(rows, commit.mandate) + 1) }]
}

/** Each fault, and how it is made. */
export const PLANTED_FAULTS: ReadonlyMap<string, (input: AuditInput) => AuditInput> = new Map([
  ["an event that is gone", (input) => ({ ...input, events: without(input.events, isCommit) })],
  [
    "a last event that is gone",
    (input) => ({ ...input, events: without(input.events, isTail(input.events)) })
  ],
  ["a second terminal event", (input) => ({ ...input, events: again(input.events) })],
  [
    "an amount that was rewritten",
    (input) => ({
      ...input,
      events: changed(
        input.events,
        ({ type }) => type === "authorization.reserved",
        (row) => ({ ...row, text: row.text?.replace(/"amount":\d+/u, '"amount":9') ?? null })
      )
    })
  ],
  [
    "a snapshot that counts otherwise",
    (input) => ({
      ...input,
      streams: changed(
        input.streams,
        ({ snapshot }) => snapshot !== null,
        (row) => ({
          ...row,
          snapshot: row.snapshot?.replace('"committedAmount":"', '"committedAmount":"7') ?? null
        })
      )
    })
  ],
  ["a stream that is gone", (input) => ({ ...input, streams: input.streams.slice(1) })],
  [
    "an idempotency key that is gone",
    (input) => ({ ...input, claims: without(input.claims, ({ kind }) => kind === "idempotency_key") })
  ],
  [
    "a commitment that is gone",
    (input) => ({ ...input, claims: without(input.claims, ({ kind }) => kind === "commitment") })
  ],
  [
    "a row in another state",
    (input) => ({
      ...input,
      authorizations: changed(
        input.authorizations,
        ({ state }) => state === "COMMITTED",
        (row) => ({ ...row, state: "CANCELLED" })
      )
    })
  ],
  [
    "an authorization without its row",
    (input) => ({ ...input, authorizations: input.authorizations.slice(1) })
  ]
] satisfies ReadonlyArray<readonly [string, (input: AuditInput) => AuditInput]>)

/** Names of the faults that the audit does not find beyond what it finds anyway. */
export const missedFaults = (input: AuditInput): ReadonlyArray<string> => {
  const before = auditTables(input).faults.length
  return [...PLANTED_FAULTS]
    .filter(([, plant]) => auditTables(plant(input)).faults.length <= before)
    .map(([name]) => name)
}
