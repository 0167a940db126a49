/**
 * Holds the tables against themselves, a recount of the journals in them, and what clients were answered. It shares no
 * code with the packages that wrote them.
 */
import { type AuditLog, type AuditReport, collectChecks } from "@svc/testkit/AuditLog"
import {
  type CountedMandate,
  canonical,
  digestOf,
  type Recorded,
  recountJournals
} from "@svc/testkit/JournalRecount"
import { COUNTERS, type Use } from "@svc/testkit/RecountBudget"
import { nanosOf } from "@svc/testkit/RecountCalendar"

type Recounts = ReadonlyMap<string, CountedMandate>

type Row = Readonly<Record<string, string | null>>

interface Write {
  readonly operation: string
  readonly path: Readonly<Record<string, string>>
  readonly key: string
  readonly body: Recorded
  readonly status: number
  readonly code?: string
  readonly resource?: string
}

export interface AuditInput {
  readonly streams: ReadonlyArray<Row>
  readonly events: ReadonlyArray<Row>
  readonly authorizations: ReadonlyArray<Row>
  readonly claims: ReadonlyArray<Row>
  readonly organization: string
  /** Every write that a client was answered. */
  readonly writes: ReadonlyArray<Write>
  /** Mandates whose approval was acknowledged. */
  readonly approved: ReadonlyArray<string>
}

const groupBy = <A>(
  rows: ReadonlyArray<A>,
  keyOf: (row: A) => string
): ReadonlyMap<string, ReadonlyArray<A>> => {
  const groups = new Map<string, Array<A>>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [row])
    else group.push(row)
  }
  return groups
}

const recordIn = (text: string | null | undefined): Recorded => JSON.parse(text ?? "null")?.value

const fingerprintOf = (operation: string, path: object, body: object): string =>
  digestOf(canonical({ operation, path_parameters: path, body }))

/** Whether six counters as a snapshot keeps them are these. */
const isKept = (use: Use, kept: Recorded): boolean =>
  COUNTERS.every(
    (counter) =>
      kept[`${counter}Amount`] === String(use[counter].amount) &&
      kept[`${counter}Executions`] === use[counter].executions
  )

const isUnused = (use: Use): boolean => COUNTERS.every((counter) => use[counter].executions === 0)

/** The row of a stream, and the snapshot in it, against the recount of its events. */
const checkStream = (
  stream: Row,
  rows: ReadonlyArray<Row>,
  counted: CountedMandate,
  { check }: AuditLog
): void => {
  const about = stream.mandate ?? ""
  const { budget, events } = counted
  const head = events.at(-1)
  check(
    "heads of streams",
    stream.seq === String(events.length) &&
      stream.hash === head.hash &&
      stream.occurred_at === String(nanosOf(head.occurred_at)) &&
      stream.bytes === String(rows.reduce((sum, { text }) => sum + Buffer.byteLength(text ?? ""), 0)),
    `${about} does not end where its row says`
  )
  rows.forEach((row, index) => {
    const isSame =
      row.id === events[index].id && row.type === events[index].type && row.seq === String(index + 1)
    check("columns of events", isSame, `${about} ${row.seq} differs from its text`)
  })
  check("events of their own mandate", events[0].data.mandate_id === about, about)
  const kept = recordIn(stream.snapshot)
  check(
    "snapshots",
    kept.state === counted.state && stream.state === counted.state && kept.version === counted.version,
    `${about} is kept as ${kept.state} ${kept.version}, counted ${counted.state} ${counted.version}`
  )
  check(
    "snapshots",
    kept.authorizationCount === counted.authorizations.size,
    `${about} counts authorizations wrong`
  )
  check("snapshot usage", isKept(budget.totals, kept.totals), `${about} keeps other totals`)
  const keptKeys = new Set<string>()
  for (const period of kept.periods) {
    const key = `${period.period}:${period.startsAt}`
    keptKeys.add(key)
    const use = budget.periods.get(key)?.use
    const holds = use === undefined ? period.counters.committedExecutions === 0 : isKept(use, period.counters)
    check("snapshot usage", holds, `${about} keeps other use of period ${key}`)
  }
  for (const [key, { period, use }] of budget.periods) {
    const isCurrent = period.endsAt > nanosOf(head.occurred_at) || use.reserved.executions > 0
    if (isCurrent && !isUnused(use)) check("snapshot usage", keptKeys.has(key), `${about} lost period ${key}`)
  }
}

const checkAuthorizations = (
  mandate: string,
  rows: ReadonlyArray<Row>,
  counted: CountedMandate,
  { check }: AuditLog
): void => {
  check(
    "authorizations have rows",
    rows.length === counted.authorizations.size,
    `${mandate} has ${rows.length} rows for ${counted.authorizations.size} authorizations`
  )
  let reserved = 0n
  for (const row of rows) {
    const id = row.authorization_id ?? ""
    const expected = counted.authorizations.get(id)
    const record = recordIn(row.record)
    const reservation = recordIn(row.reservation)
    const isOpen = row.state === "RESERVED"
    if (isOpen) reserved += BigInt(reservation?.amount ?? 0)
    check(
      "authorization rows",
      expected !== undefined &&
        row.state === expected.state &&
        record.state === expected.state &&
        row.ordinal === String(expected.order) &&
        (reservation !== undefined) === isOpen &&
        (!isOpen || reservation.amount === String(expected.amount)),
      `${id} is ${row.state} in its row, ${expected?.state} in the journal`
    )
    const isClosed = ["COMMITTED", "CANCELLED", "EXPIRED"].includes(row.state ?? "")
    check(
      "one terminal event per authorization",
      expected?.terminalEvents === (isClosed ? 1 : 0),
      `${id} is ${row.state} with ${expected?.terminalEvents} terminal events`
    )
  }
  check(
    "open rows hold what is reserved",
    reserved === counted.budget.totals.reserved.amount,
    `${mandate} holds ${reserved}`
  )
}

/** What each kind of write must have left, found by what only that write said. */
const DONE: Readonly<Record<string, { readonly type: string; readonly mark: (body: Recorded) => string }>> = {
  "POST /v1/mandates": { type: "mandate.created", mark: (body) => body.description },
  "POST /v1/mandates/{mandate_id}/authorizations": {
    type: "decision",
    mark: (body) => body.external_reference
  },
  "PUT /v1/authorizations/{authorization_id}/commit": {
    type: "authorization.committed",
    mark: (body) => body.provider_transaction_reference
  },
  "PUT /v1/authorizations/{authorization_id}/cancellation": {
    type: "authorization.cancelled",
    mark: (body) => body.external_credential_reference
  },
  "PUT /v1/mandates/{mandate_id}/revocation": { type: "mandate.revoked", mark: (body) => body.reason },
  "POST /v1/authorizations/{authorization_id}/refunds": {
    type: "authorization.refund_reported",
    mark: (body) => body.provider_refund_reference
  }
}

const DECISION = /^authorization\.(reserved|denied|indeterminate)$/u

/** Every effect in the journals under the mark that its write gave it. */
const effectsOf = (recounts: Recounts) => {
  const effects: Array<{ readonly mark: string; readonly resource: string; readonly data: Recorded }> = []
  for (const [mandate, { events }] of recounts) {
    for (const event of events) {
      const type = DECISION.test(event.type) ? "decision" : event.type
      const kind = Object.values(DONE).find((one) => one.type === type)
      const resource = event.authorization_id ?? mandate
      if (kind !== undefined)
        effects.push({ mark: `${type} ${kind.mark(event.data)}`, resource, data: event.data })
    }
  }
  return groupBy(effects, ({ mark }) => mark)
}

const isSuccess = ({ status }: Write): boolean => status === 200 || status === 201

/** A report's instant is kept as it was given, less trailing zeros of its fraction. */
const asKept = (name: string, value: Recorded): Recorded =>
  name.startsWith("reported_") && name.endsWith("_at")
    ? value.replace(/(\.\d*?)0+Z$/u, "$1Z").replace(".Z", "Z")
    : value

const keptContent = (body: Recorded): Recorded =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, asKept(name, value)]))

/** Members of the request are as they were in what was recorded. */
const holdsContent = (write: Write, data: Recorded): boolean => {
  if (write.operation === "POST /v1/mandates") return data.subject_reference === write.body.subject_reference
  return Object.entries(keptContent(write.body)).every(
    ([name, value]) => canonical(data[name]) === canonical(value)
  )
}

const checkWrites = (input: AuditInput, recounts: Recounts, { check }: AuditLog): void => {
  const effects = effectsOf(recounts)
  for (const [mark, made] of effects)
    check("operations happened once", made.length === 1, `${mark} ${made.length} times`)
  const claims = new Map(
    input.claims.filter(({ kind }) => kind === "idempotency_key").map((claim) => [claim.name, claim])
  )
  const sent = new Set(input.writes.map(({ key }) => key))
  for (const [name] of claims) check("keys are of a client", sent.has(name ?? ""), `${name} was never sent`)
  const byKey = groupBy(input.writes.filter(isSuccess), ({ key }) => key)
  for (const [key, writes] of byKey) {
    const [first] = writes
    const claim = claims.get(key)
    if (first === undefined) continue
    const name = `${first.operation} ${key}`
    check(
      "acknowledged keys are bound",
      claim?.fingerprint === fingerprintOf(first.operation, first.path, first.body) &&
        claim.resource === first.resource,
      `${name} is bound to ${claim?.resource ?? "nothing"}, answered ${first.resource}`
    )
    check(
      "one resource per key",
      writes.every(({ resource }) => resource === first.resource),
      `${name} was answered with several`
    )
    const kind = DONE[first.operation]
    if (kind === undefined) continue
    const effect = effects.get(`${kind.type} ${kind.mark(first.body)}`)?.[0]
    check(
      "acknowledged writes are there",
      effect !== undefined && effect.resource === first.resource && holdsContent(first, effect.data),
      `${name} left ${effect === undefined ? "nothing" : `another effect at ${effect.resource}`}`
    )
  }
  // A key that is bound has its effect, whether or not its client learned of it.
  for (const { key, operation, body } of input.writes) {
    const kind = DONE[operation]
    if (kind === undefined || !claims.has(key) || byKey.has(key)) continue
    check("bound keys have effects", effects.has(`${kind.type} ${kind.mark(body)}`), `${operation} ${key}`)
  }
}

/** Reports that were refused as conflicts stand in the journal, each once. */
const checkConflicts = (input: AuditInput, recounts: Recounts, { check }: AuditLog): void => {
  const recorded = new Map<string, number>()
  const conflictsOf = new Map<string, number>()
  for (const { events } of recounts.values()) {
    for (const event of events) {
      if (event.type !== "authorization.outcome_conflict") continue
      const mark = `${event.authorization_id} ${canonical(event.data.content)}`
      recorded.set(mark, (recorded.get(mark) ?? 0) + 1)
      conflictsOf.set(event.authorization_id, (conflictsOf.get(event.authorization_id) ?? 0) + 1)
    }
  }
  for (const [mark, times] of recorded) check("conflicts told once", times === 1, mark)
  for (const { body, code, path } of input.writes) {
    if (code !== "terminal_state_conflict") continue
    const id = path.authorization_id ?? ""
    const isFull = (conflictsOf.get(id) ?? 0) >= 10
    check(
      "refused outcomes are recorded",
      isFull || recorded.has(`${id} ${canonical(keptContent(body))}`),
      id
    )
  }
}

const checkCommitments = (input: AuditInput, recounts: Recounts, { check }: AuditLog): void => {
  const claims = new Map(
    input.claims.filter(({ kind }) => kind === "commitment").map((claim) => [claim.name, claim])
  )
  for (const { authorizations } of recounts.values()) {
    for (const [id, { commitment }] of authorizations) {
      check(
        "commitments are bound",
        claims.get(commitment)?.resource === id,
        `${id} does not hold its commitment`
      )
    }
  }
}

/** Runs every check. */
export const auditTables = (input: AuditInput): AuditReport => {
  const log = collectChecks()
  const events = groupBy(input.events, ({ mandate }) => mandate ?? "")
  const authorizations = groupBy(input.authorizations, ({ mandate }) => mandate ?? "")
  const { append, mandates } = recountJournals(log)
  for (const stream of input.streams) {
    const mandate = stream.mandate ?? ""
    const rows = [...(events.get(mandate) ?? [])].sort((one, other) => Number(one.seq) - Number(other.seq))
    log.check("streams have events", rows.length > 0, mandate)
    if (rows.length === 0) continue
    for (const { text } of rows) append(mandate, text ?? "")
    const counted = mandates.get(mandate)
    if (counted === undefined) continue
    const { organization_id } = counted.terms
    log.check("events of their own organization", organization_id === input.organization, mandate)
    checkStream(stream, rows, counted, log)
    checkAuthorizations(mandate, authorizations.get(mandate) ?? [], counted, log)
  }
  for (const mandate of [...events.keys(), ...authorizations.keys()]) {
    log.check("rows of known streams", mandates.has(mandate), mandate)
  }
  for (const mandate of input.approved) {
    const approvals = mandates.get(mandate)?.events.filter(({ type }) => type === "mandate.approved")
    log.check("acknowledged approvals are there", approvals?.length === 1, mandate)
  }
  checkWrites(input, mandates, log)
  checkConflicts(input, mandates, log)
  checkCommitments(input, mandates, log)
  return log
}
