import { sha256 } from "@noble/hashes/sha2.js"

/*
 * Knows nothing of the deciders: it reads journals as texts and resources as they are shown, keeps sums of its own,
 * and says what should never be seen. It trusts nothing that it could work out.
 */

type Json = Readonly<Record<string, unknown>>

interface Hold {
  readonly amount: bigint
  readonly periods: ReadonlyArray<{ readonly key: string; readonly endsAt: string }>
  readonly executeBefore: string
  readonly expiresAt: string
  state: string
  late: boolean
}

interface Sum {
  amount: bigint
  executions: number
}

interface Ledger {
  readonly committed: Sum
  readonly reserved: Sum
  readonly late: Sum
}

interface Book {
  readonly texts: Array<string>
  readonly created: Json
  readonly single: boolean
  state: string
  version: number
  record: Json
  readonly holds: Map<string, Hold>
  readonly ledgers: Map<string, Ledger>
  lastShown: { version: number; updatedAt: string; state: string } | undefined
  readonly shownAuthorizations: Map<string, string>
}

const TOTAL = "total"
const FINAL = new Set(["CONSUMED", "REVOKED", "REJECTED", "EXPIRED"])
const CALLERS = new Set([
  "authorization.committed",
  "authorization.cancelled",
  "authorization.outcome_conflict",
  "authorization.refund_reported"
])

const sorted = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`).join(",")}}`
}

const hashOf = (event: Json): string => {
  const { hash: _, ...rest } = event
  const digest = sha256(new TextEncoder().encode(`svc:journal:event:v1\n${sorted(rest)}`))
  return btoa(String.fromCharCode(...digest))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
}

/** Nine digits of a second, so that texts of instants compare as instants. */
const padded = (timestamp: unknown): string => {
  const [whole, fraction = ""] = String(timestamp).slice(0, -1).split(".")
  return `${whole}.${fraction.padEnd(9, "0")}Z`
}

const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null ? (value as Json) : {}
const listOf = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])
const amountOf = (action: unknown): bigint => BigInt(Number(objectOf(objectOf(action).payment).amount))

const emptyLedger = (): Ledger => ({
  committed: { amount: 0n, executions: 0 },
  reserved: { amount: 0n, executions: 0 },
  late: { amount: 0n, executions: 0 }
})

const add = (sum: Sum, amount: bigint, sign: 1 | -1 = 1): void => {
  sum.amount += sign === 1 ? amount : -amount
  sum.executions += sign
}

/** An auditor of one organization. Each call gives the faults that it found, in words. */
export interface Auditor {
  /** The whole journal of a mandate, everything due at `now` (RFC 3339 text) recorded. */
  readonly journal: (mandate: string, texts: ReadonlyArray<string>, now: string) => ReadonlyArray<string>
  /** A mandate as it was shown at `now`, after its journal was given. */
  readonly mandateShown: (resource: unknown, now: string) => ReadonlyArray<string>
  /** An authorization as it was shown at `now`, after its mandate's journal was given. */
  readonly authorizationShown: (resource: unknown, now: string) => ReadonlyArray<string>
  /** A write that succeeded under a key: its operation, its input as text, and the resource it answered with. */
  readonly written: (operation: string, key: string, input: string, resource: string) => ReadonlyArray<string>
  /** The decoded payload text of evidence, after the mandate's journal was given. */
  readonly evidenceServed: (mandate: string, payloadText: string) => ReadonlyArray<string>
}

/**
 * Checks what must hold however a run went: no ALLOW over a cap, one terminal event per authorization, the execution
 * gate, one commit of a consumed SINGLE mandate, nothing that turns back, each commitment once, each key one input and
 * one resource, journals without gaps whose hashes chain, evidence that is the journal, and everything due done.
 */
export const makeAuditor = (): Auditor => {
  const books = new Map<string, Book>()
  const commitments = new Map<string, string>()
  const keys = new Map<string, { input: string; resource: string }>()
  const eventIds = new Set<string>()

  const journal = (mandate: string, texts: ReadonlyArray<string>, now: string): ReadonlyArray<string> => {
    const faults: Array<string> = []
    const known = books.get(mandate)?.texts ?? []
    for (const [index, text] of known.entries()) {
      if (texts[index] !== text) faults.push(`${mandate}: event ${index + 1} was rewritten`)
    }
    for (const text of texts.slice(known.length)) faults.push(...append(mandate, text))
    const book = books.get(mandate)
    if (book === undefined) return [...faults, `${mandate}: has no events`]
    return [...faults, ...overdue(mandate, book, padded(now))]
  }

  const append = (mandate: string, text: string): ReadonlyArray<string> => {
    const event = JSON.parse(text) as Json
    const faults = chainFaults(mandate, books.get(mandate), event, text)
    if (eventIds.has(String(event.id))) faults.push(`${event.id}: two events have this id`)
    eventIds.add(String(event.id))
    const data = objectOf(event.data)
    let book = books.get(mandate)
    if (book === undefined) {
      if (event.type !== "mandate.created") return [...faults, `${mandate}: does not begin with its creation`]
      book = open(data, event)
      books.set(mandate, book)
    } else {
      faults.push(...fold(mandate, book, event, data))
    }
    book.texts.push(text)
    if (event.mandate_version !== book.version) {
      faults.push(`${mandate} #${event.seq}: version ${event.mandate_version}, counted ${book.version}`)
    }
    book.record = { ...book.record, state: book.state, version: book.version, updated_at: event.occurred_at }
    return faults
  }

  const fold = (mandate: string, book: Book, event: Json, data: Json): ReadonlyArray<string> => {
    const type = String(event.type)
    const disorder = disorderFaults(mandate, book, event)
    return [...disorder, ...foldInOrder(mandate, book, event, data, type)]
  }

  const foldInOrder = (
    mandate: string,
    book: Book,
    event: Json,
    data: Json,
    type: string
  ): ReadonlyArray<string> => {
    if (type.startsWith("mandate.")) return moveMandate(mandate, book, type, data, event)
    const id = String(event.authorization_id)
    if (data.decision !== undefined) {
      const claimed = commitments.get(String(data.commitment))
      commitments.set(String(data.commitment), id)
      return [
        ...(claimed === undefined ? [] : [`${id}: the commitment is that of ${claimed}`]),
        ...decide(book, id, type, data, event)
      ]
    }
    return close(book, id, type, data, padded(event.occurred_at))
  }

  const mandateShown = (resource: unknown, now: string): ReadonlyArray<string> => {
    const { usage, ...shown } = objectOf(resource)
    const book = books.get(String(shown.id))
    if (book === undefined) return [`${shown.id}: shown without a journal`]
    const faults: Array<string> = []
    if (sorted(shown) !== sorted(book.record)) {
      faults.push(`${shown.id}: shown as ${sorted(shown)}, recorded as ${sorted(book.record)}`)
    }
    faults.push(...usageFaults(String(shown.id), book, objectOf(usage), padded(now)))
    const last = book.lastShown
    if (last !== undefined) {
      if (Number(shown.version) < last.version) faults.push(`${shown.id}: the version turned back`)
      if (padded(shown.updated_at) < padded(last.updatedAt))
        faults.push(`${shown.id}: updated_at turned back`)
      if (FINAL.has(last.state) && shown.state !== last.state) faults.push(`${shown.id}: left a final state`)
    }
    book.lastShown = {
      version: Number(shown.version),
      updatedAt: String(shown.updated_at),
      state: String(shown.state)
    }
    return faults
  }

  const authorizationShown = (resource: unknown, now: string): ReadonlyArray<string> => {
    const shown = objectOf(resource)
    const id = String(shown.id)
    const book = books.get(String(shown.mandate_id))
    const hold = book?.holds.get(id)
    if (book === undefined || hold === undefined) return [`${id}: shown without an event`]
    const faults: Array<string> = []
    if (shown.state !== hold.state) faults.push(`${id}: shown as ${shown.state}, recorded as ${hold.state}`)
    const gate =
      shown.decision === "ALLOW" &&
      shown.state === "RESERVED" &&
      book.state === "ACTIVE" &&
      padded(now) < hold.executeBefore
    if (shown.can_execute !== gate) faults.push(`${id}: can_execute is ${shown.can_execute}, must be ${gate}`)
    const before = book.shownAuthorizations.get(id)
    if (before !== undefined && before !== "RESERVED" && before !== shown.state) {
      faults.push(`${id}: was ${before} and is shown as ${shown.state}`)
    }
    book.shownAuthorizations.set(id, String(shown.state))
    return faults
  }

  const written = (
    operation: string,
    key: string,
    input: string,
    resource: string
  ): ReadonlyArray<string> => {
    const given = `${operation} ${input}`
    const held = keys.get(key)
    if (held === undefined) {
      keys.set(key, { input: given, resource })
      return []
    }
    return [
      ...(held.input === given ? [] : [`${key}: one key, two inputs`]),
      ...(held.resource === resource ? [] : [`${key}: one key, ${held.resource} and ${resource}`])
    ]
  }

  const evidenceServed = (mandate: string, payloadText: string): ReadonlyArray<string> => {
    const book = books.get(mandate)
    if (book === undefined) return [`${mandate}: evidence without a journal`]
    const payload = JSON.parse(payloadText) as Json
    const last = JSON.parse(book.texts.at(-1) ?? "{}") as Json
    const { generated_at: _, ...served } = payload
    const rebuilt = {
      schema: "svc.evidence.v1",
      organization_id: book.created.organization_id,
      environment: book.created.environment,
      mandate: book.record,
      events: book.texts.map((text) => JSON.parse(text) as Json),
      head: { seq: book.texts.length, hash: last.hash }
    }
    return [
      ...(sorted(served) === sorted(rebuilt)
        ? []
        : [`${mandate}: the evidence is not what the journal says`]),
      ...(payloadText.includes(`[${book.texts.join(",")}]`)
        ? []
        : [`${mandate}: an event's text was rewritten`])
    ]
  }

  return { journal, mandateShown, authorizationShown, written, evidenceServed }
}

const open = (data: Json, event: Json): Book => {
  const { organization_id, environment, mandate_id, time_zones, ...terms } = data
  return {
    texts: [],
    created: { organization_id, environment, mandate_id, time_zones },
    single: data.kind === "SINGLE",
    state: "PENDING_APPROVAL",
    version: 1,
    record: { id: mandate_id, ...terms, created_at: event.occurred_at },
    holds: new Map(),
    ledgers: new Map([[TOTAL, emptyLedger()]]),
    lastShown: undefined,
    shownAuthorizations: new Map()
  }
}

const chainFaults = (mandate: string, book: Book | undefined, event: Json, text: string): Array<string> => {
  const faults: Array<string> = []
  const at = `${mandate} #${event.seq}`
  const previous = book === undefined ? undefined : (JSON.parse(book.texts.at(-1) ?? "{}") as Json)
  if (event.seq !== (book?.texts.length ?? 0) + 1) faults.push(`${at}: a gap before it`)
  if (event.previous_hash !== previous?.hash) faults.push(`${at}: not chained`)
  if (event.hash !== hashOf(event)) faults.push(`${at}: its hash is wrong`)
  if (sorted(event) !== text) faults.push(`${at}: its text is not canonical`)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/.test(String(event.occurred_at))) {
    faults.push(`${at}: occurred_at has not nine digits`)
  }
  if (previous !== undefined && String(event.occurred_at) < String(previous.occurred_at)) {
    faults.push(`${at}: before the event that it follows`)
  }
  const source = CALLERS.has(String(event.type)) ? "CALLER_REPORTED" : "SERVICE_VERIFIED"
  if (event.source !== source) faults.push(`${at}: a ${event.type} is shown as ${event.source}`)
  return faults
}

/** What is due at one instant comes in its order: authorizations as they were created, then the mandate's end. */
const disorderFaults = (mandate: string, book: Book, event: Json): ReadonlyArray<string> => {
  const previous = JSON.parse(book.texts.at(-1) ?? "{}") as Json
  if (event.type !== "authorization.expired" || previous.occurred_at !== event.occurred_at) return []
  const order = [...book.holds.keys()]
  const earlier =
    previous.type === "authorization.expired" &&
    order.indexOf(String(event.authorization_id)) < order.indexOf(String(previous.authorization_id))
  return earlier || previous.type === "mandate.expired" ? [`${mandate} #${event.seq}: out of turn`] : []
}

const moveMandate = (
  mandate: string,
  book: Book,
  type: string,
  data: Json,
  event: Json
): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const at = event.occurred_at
  const startsAt = padded(objectOf(book.record.window).starts_at)
  const moves: Readonly<Record<string, readonly [from: ReadonlyArray<string>, to: string]>> = {
    "mandate.approved": [["PENDING_APPROVAL"], padded(at) < startsAt ? "SCHEDULED" : "ACTIVE"],
    "mandate.rejected": [["PENDING_APPROVAL"], "REJECTED"],
    "mandate.activated": [["SCHEDULED"], "ACTIVE"],
    "mandate.consumed": [["ACTIVE"], "CONSUMED"],
    "mandate.revoked": [["PENDING_APPROVAL", "SCHEDULED", "ACTIVE"], "REVOKED"],
    "mandate.expired": [["PENDING_APPROVAL", "ACTIVE"], "EXPIRED"]
  }
  const move = moves[type]
  if (move === undefined || !move[0].includes(book.state)) {
    return [`${mandate} #${event.seq}: ${type} from ${book.state}`]
  }
  book.state = move[1]
  book.version += 1
  if (type === "mandate.approved") book.record = { ...book.record, approved_at: at }
  if (FINAL.has(book.state)) book.record = { ...book.record, ended_at: at }
  if (type === "mandate.expired") book.record = { ...book.record, end_reason: data.end_reason }
  if (type === "mandate.revoked") book.record = { ...book.record, revocation: { reason: data.reason } }
  const commits = [...book.holds.values()].filter(({ state }) => state === "COMMITTED").length
  if (type === "mandate.consumed" && book.single && commits !== 1) {
    faults.push(`${mandate}: consumed by ${commits} commits`)
  }
  if (type === "mandate.consumed" && !book.single && !isFilled(book)) {
    faults.push(`${mandate}: consumed with budget left`)
  }
  return faults
}

const isFilled = (book: Book): boolean => {
  const { max_total_amount, max_executions } = objectOf(book.record.policy)
  const { committed } = ledger(book, TOTAL)
  return (
    (max_total_amount !== undefined && committed.amount >= BigInt(Number(max_total_amount))) ||
    (max_executions !== undefined && committed.executions >= Number(max_executions))
  )
}

const ledger = (book: Book, key: string): Ledger => {
  const known = book.ledgers.get(key) ?? emptyLedger()
  book.ledgers.set(key, known)
  return known
}

const overCap = (sums: Ledger, caps: Json, amount: string, executions: string): boolean => {
  const total = sums.committed.amount + sums.reserved.amount + sums.late.amount
  const count = sums.committed.executions + sums.reserved.executions + sums.late.executions
  const [maxAmount, maxExecutions] = [caps[amount], caps[executions]]
  return (
    (maxAmount !== undefined && total > BigInt(Number(maxAmount))) ||
    (maxExecutions !== undefined && count > Number(maxExecutions))
  )
}

const STATE_OF_DECISION: Readonly<Record<string, string>> = {
  "authorization.reserved": "RESERVED",
  "authorization.denied": "DENIED",
  "authorization.indeterminate": "INDETERMINATE"
}

const decide = (book: Book, id: string, type: string, data: Json, event: Json): ReadonlyArray<string> => {
  if (book.holds.has(id)) return [`${id}: decided twice`]
  const faults: Array<string> = []
  const at = padded(event.occurred_at)
  const shownPeriods = listOf(objectOf(data.usage).periods)
  const allowed = data.decision === "ALLOW"
  if (allowed !== (type === "authorization.reserved")) faults.push(`${id}: ${data.decision} as ${type}`)
  if (allowed !== (listOf(data.reasons).length === 0))
    faults.push(`${id}: ${data.decision} with wrong reasons`)
  const hold: Hold = {
    amount: amountOf(data.proposed_action),
    periods: shownPeriods.map((period) => ({
      key: `${period.period} ${period.starts_at}`,
      endsAt: padded(period.ends_at)
    })),
    executeBefore: padded(data.execute_before ?? "0000-01-01T00:00:00Z"),
    expiresAt: padded(data.expires_at ?? "9999-12-31T23:59:59Z"),
    state: STATE_OF_DECISION[type] ?? type,
    late: false
  }
  book.holds.set(id, hold)
  if (!allowed) return faults
  if (book.state !== "ACTIVE") faults.push(`${id}: allowed on a mandate that is ${book.state}`)
  const window = objectOf(book.record.window)
  if (at < padded(window.starts_at) || at >= padded(window.ends_at))
    faults.push(`${id}: allowed outside of the window`)
  if (hold.executeBefore > padded(window.ends_at)) faults.push(`${id}: may execute after the window`)
  if (hold.expiresAt < hold.executeBefore) faults.push(`${id}: expires before its deadline`)
  faults.push(...reserve(book, id, hold, objectOf(book.record.policy), shownPeriods, at))
  return faults
}

const reserve = (
  book: Book,
  id: string,
  hold: Hold,
  policy: Json,
  shownPeriods: ReadonlyArray<Json>,
  at: string
): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const total = ledger(book, TOTAL)
  add(total.reserved, hold.amount)
  if (overCap(total, policy, "max_total_amount", "max_executions")) faults.push(`${id}: allowed over a total`)
  if (book.single) {
    const others = [...book.holds.values()].filter(
      (other) => other !== hold && (other.state === "RESERVED" || other.state === "COMMITTED" || other.late)
    )
    if (others.length > 0) faults.push(`${id}: allowed beside another of a SINGLE mandate`)
  }
  const rules = listOf(policy.periods)
  if (shownPeriods.length !== rules.length) faults.push(`${id}: not every period was looked at`)
  for (const [index, period] of shownPeriods.entries()) {
    if (padded(period.starts_at) > at || padded(period.ends_at) <= at) {
      faults.push(`${id}: decided in a period that is not of its instant`)
    }
    const sums = ledger(book, `${period.period} ${period.starts_at}`)
    add(sums.reserved, hold.amount)
    const caps = rules[index] ?? {}
    if (overCap(sums, caps, "max_amount", "max_executions")) faults.push(`${id}: allowed over a period's cap`)
    if (overCap(sums, period, "max_amount", "max_executions")) {
      faults.push(`${id}: allowed over a period's prorated cap`)
    }
  }
  return faults
}

const close = (book: Book, id: string, type: string, data: Json, at: string): ReadonlyArray<string> => {
  const hold = book.holds.get(id)
  if (hold === undefined) return [`${id}: ${type} of an authorization that was never decided`]
  const ledgers = [TOTAL, ...hold.periods.map(({ key }) => key)].map((key) => ledger(book, key))
  switch (type) {
    case "authorization.committed":
    case "authorization.cancelled":
    case "authorization.expired": {
      if (hold.state !== "RESERVED") return [`${id}: ${type} after ${hold.state}`]
      hold.state = type.slice("authorization.".length).toUpperCase()
      for (const sums of ledgers) {
        add(sums.reserved, hold.amount, -1)
        if (hold.state === "COMMITTED") add(sums.committed, hold.amount)
      }
      if (hold.state === "EXPIRED") return at === hold.expiresAt ? [] : [`${id}: expired at another instant`]
      return at < hold.expiresAt ? [] : [`${id}: ${type} when it had expired`]
    }
    case "authorization.outcome_conflict": {
      if (data.late !== true) return []
      if (hold.late || data.reported !== "COMMITTED") return [`${id}: late use was counted wrongly`]
      hold.late = true
      add(ledger(book, TOTAL).late, hold.amount)
      for (const { key, endsAt } of hold.periods) if (endsAt > at) add(ledger(book, key).late, hold.amount)
      return hold.state === "EXPIRED" || hold.state === "CANCELLED" ? [] : [`${id}: late after ${hold.state}`]
    }
    case "authorization.refund_reported":
      return hold.state === "COMMITTED" ? [] : [`${id}: a refund after ${hold.state}`]
    default:
      return [`${id}: an event of unknown type ${type}`]
  }
}

/** What should have happened by now and has not. */
const overdue = (mandate: string, book: Book, now: string): ReadonlyArray<string> => {
  const window = objectOf(book.record.window)
  const faults: Array<string> = []
  if (book.state === "PENDING_APPROVAL" && padded(book.record.approval_deadline) <= now) {
    faults.push(`${mandate}: still waits after its approval deadline`)
  }
  if (book.state === "SCHEDULED" && padded(window.starts_at) <= now)
    faults.push(`${mandate}: should have started`)
  if (book.state === "ACTIVE" && padded(window.ends_at) <= now) faults.push(`${mandate}: should have ended`)
  for (const [id, hold] of book.holds) {
    if (hold.state === "RESERVED" && hold.expiresAt <= now) faults.push(`${id}: should have expired`)
  }
  return faults
}

const COUNTERS = ["committed", "reserved", "late"] as const

const usageFaults = (mandate: string, book: Book, usage: Json, now: string): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const compare = (where: string, shown: Json, sums: Ledger) => {
    for (const counter of COUNTERS) {
      const { amount, executions } = sums[counter]
      if (
        shown[`${counter}_executions`] !== executions ||
        BigInt(Number(shown[`${counter}_amount`])) !==
          (amount > 9007199254740991n ? 9007199254740991n : amount)
      ) {
        faults.push(`${mandate}: ${counter} use of ${where} is shown wrongly at ${now}`)
      }
    }
  }
  compare("the whole", usage, ledger(book, TOTAL))
  for (const period of listOf(usage.periods)) {
    compare(`period ${period.period}`, period, ledger(book, `${period.period} ${period.starts_at}`))
  }
  return faults
}
