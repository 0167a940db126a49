/**
 * Holds what receivers have seen, and the tables, against each other and against what part 8 promises. It shares no code
 * with the packages that sent and recorded it: signatures are verified with `node:crypto` alone, and counters counted anew.
 */
import { createHmac } from "node:crypto"
import { type AuditLog, type AuditReport, collectChecks } from "@svc/testkit/AuditLog"

type Row = Readonly<Record<string, string | null>>

const MAX_ATTEMPTS = 9
const MAX_FAILED = 20
const MAX_EXHAUSTED = 10
const NANOS_PER_SECOND = 1_000_000_000n

/** A point of the journal of lines, by its number and the store's clock in nanoseconds. */
interface Point {
  readonly seq: number
  readonly clock: bigint
}

/** An endpoint as its owner knows it. */
export interface AuditedEndpoint {
  readonly id: string
  readonly organization: string
  readonly path: string
  readonly secret: string
  /** When its registration had been answered. */
  readonly registered: Point
  /** Just before its deletion was asked for, and when that had been answered. */
  readonly deleted?: { readonly asked: Point; readonly answered: Point }
}

export interface WebhookAuditInput {
  readonly endpoints: ReadonlyArray<AuditedEndpoint>
  /** What receivers have got, with the status that they handed to the network. */
  readonly requests: ReadonlyArray<{
    readonly path: string
    readonly signature: string
    /** A character for each byte. */
    readonly body: string
    readonly status?: number
  }>
  /** Rows of the tables, and lines of what happened in them, in order. */
  readonly tables: {
    readonly events: ReadonlyArray<Row>
    readonly lines: ReadonlyArray<Row>
    readonly endpoints: ReadonlyArray<Row>
    readonly deliveries: ReadonlyArray<Row>
  }
}

export interface WebhookAuditReport extends AuditReport {
  /** Attempts that were lost with their worker, and those of them that a receiver had taken for delivered. */
  readonly lost: { readonly all: number; readonly taken: number }
}

interface Attempt {
  readonly at: bigint
  readonly status?: number
  readonly error?: string
}

interface Request {
  readonly endpoint: AuditedEndpoint
  readonly event: string
  readonly t: string
  readonly body: string
  readonly status?: number
}

interface Delivery {
  readonly id: string
  readonly endpoint: AuditedEndpoint
  readonly event: string
  readonly row: Row
  readonly attempts: ReadonlyArray<Attempt>
}

type Check = AuditLog["check"]

const attemptsIn = (text: string | null | undefined): ReadonlyArray<Attempt> => {
  const written: ReadonlyArray<Omit<Attempt, "at"> & { readonly at: string }> =
    text === null || text === undefined ? [] : JSON.parse(text).value
  return written.map((attempt) => ({ ...attempt, at: BigInt(attempt.at) }))
}

const isArrival = ({ status = 0 }: { readonly status?: number }): boolean => status >= 200 && status <= 299
const isLost = ({ error }: Attempt): boolean => error === "worker_lost"
const secondOf = ({ at }: Attempt): string => String(at / NANOS_PER_SECOND)
const keyOf = (endpoint: AuditedEndpoint, event: string): string => `${endpoint.id} ${event}`

const groupBy = <A>(list: ReadonlyArray<A>, key: (one: A) => string): ReadonlyMap<string, ReadonlyArray<A>> =>
  Map.groupBy(list, key)

/** The event that a body says it is of. */
const eventIn = (body: string): string => {
  try {
    return String(JSON.parse(Buffer.from(body, "latin1").toString("utf8")).id)
  } catch {
    return ""
  }
}

const isSigned = (secret: string, signature: string, body: string): boolean => {
  const [, t, v1] = /^t=([1-9]\d*),v1=([0-9a-f]{64})$/u.exec(signature) ?? []
  const key = Buffer.from(secret.replace(/^svc_wh_/u, ""), "base64url")
  return v1 === createHmac("sha256", key).update(`${t}.`).update(body, "latin1").digest("hex")
}

/** Requests that are of a known endpoint, in the order in which they came. */
const requestsOf = ({ endpoints, requests }: WebhookAuditInput, check: Check): ReadonlyArray<Request> => {
  const byPath = new Map(endpoints.map((endpoint) => [endpoint.path, endpoint]))
  return requests.flatMap(({ body, path, signature, ...rest }) => {
    const endpoint = byPath.get(path)
    check("requests go to endpoints", endpoint !== undefined, path)
    if (endpoint === undefined) return []
    const event = eventIn(body)
    check("signatures verify", isSigned(endpoint.secret, signature, body), `${event} at ${endpoint.id}`)
    const t = /^t=(\d+)/u.exec(signature)?.[1] ?? ""
    return [{ endpoint, event, t, body, ...rest }]
  })
}

const deliveriesOf = ({ endpoints, tables }: WebhookAuditInput, check: Check): ReadonlyArray<Delivery> => {
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  return tables.deliveries.flatMap((row) => {
    const endpoint = byId.get(row.endpoint ?? "")
    check("deliveries have endpoints", endpoint !== undefined, `${row.delivery}`)
    if (endpoint === undefined) return []
    const event = row.event ?? ""
    return [{ id: row.delivery ?? "", endpoint, event, row, attempts: attemptsIn(row.attempts) }]
  })
}

/** Each endpoint that was there when an event was recorded has one delivery of it; one that was not has none. */
const checkFanOut = (
  { endpoints, tables }: WebhookAuditInput,
  deliveries: ReadonlyMap<string, ReadonlyArray<Delivery>>,
  check: Check
): void => {
  const seqs = new Map(tables.lines.map(({ event, kind, seq }) => [`${kind} ${event}`, Number(seq)]))
  for (const { id, organization } of tables.events) {
    const begun = seqs.get(`event_begun ${id}`) ?? 0
    const ended = seqs.get(`event_ended ${id}`) ?? 0
    for (const endpoint of endpoints) {
      if (endpoint.organization !== organization) continue
      const count = deliveries.get(keyOf(endpoint, id ?? ""))?.length ?? 0
      const about = `${id} has ${count} at ${endpoint.id}`
      const { deleted, registered } = endpoint
      const wasThere = registered.seq < begun && (deleted === undefined || ended < deleted.asked.seq)
      if (wasThere) check("each event has its delivery", count === 1, about)
      else if (deleted !== undefined && deleted.answered.seq < begun) {
        check("no delivery after deletion", count === 0, about)
      } else check("at most one delivery", count <= 1, about)
    }
  }
}

/** One body, byte for byte, over all attempts and endpoints, and that is the one which is kept. */
const checkBodies = (
  requests: ReadonlyArray<Request>,
  deliveries: ReadonlyArray<Delivery>,
  check: Check
): void => {
  const kept = new Map<string, string>()
  for (const { event, id, row } of deliveries) {
    const body = Buffer.from(row.body ?? "", "utf8").toString("latin1")
    if (!kept.has(event)) kept.set(event, body)
    check("one event, one body", kept.get(event) === body && eventIn(body) === event, `${event} in ${id}`)
  }
  for (const { body, endpoint, event } of requests) {
    check("one event, one body", kept.get(event) === body, `${event} at ${endpoint.id}`)
  }
}

/** An event of one organization goes to no endpoint of another. */
const checkTenants = (
  { tables }: WebhookAuditInput,
  requests: ReadonlyArray<Request>,
  deliveries: ReadonlyArray<Delivery>,
  check: Check
): void => {
  const owner = new Map(tables.events.map(({ id, organization }) => [id ?? "", organization]))
  for (const { endpoint, event } of requests) {
    const about = `${event} of ${owner.get(event)} at ${endpoint.id}`
    check("events go to their own organization", owner.get(event) === endpoint.organization, about)
  }
  for (const { endpoint, event, id, row } of deliveries) {
    const isOwn = owner.get(event) === endpoint.organization && row.organization === endpoint.organization
    check("events go to their own organization", isOwn, `${event} of ${owner.get(event)} in ${id}`)
  }
}

/** What became of a delivery once no fault was left. */
const checkEnd = ({ attempts, endpoint, id, row }: Delivery, check: Check): void => {
  const { open_token, state } = row
  const arrivals = attempts.filter(isArrival).length
  const about = `${id} is ${state} after ${attempts.length} attempts, ${arrivals} of them arrivals`
  check("at most nine attempts", attempts.length <= MAX_ATTEMPTS, about)
  check("nothing is under way", open_token === null, about)
  const isConsistent =
    state === "delivered"
      ? arrivals === 1 && isArrival(attempts.at(-1)!)
      : arrivals === 0 && (state === "exhausted") === attempts.length >= MAX_ATTEMPTS
  check("states follow from attempts", isConsistent, about)
  if (endpoint.deleted === undefined) check("everything due is done", state !== "pending", about)
}

/** Attempts against requests: by their seconds, of which no two attempts of a delivery share one. */
const checkAttempts = (delivery: Delivery, requests: ReadonlyArray<Request>, check: Check): void => {
  const { attempts, endpoint, event, id } = delivery
  const seen = Map.groupBy(requests, ({ t }) => t)
  check("fresh t for each attempt", seen.size === requests.length, `${event} at ${endpoint.id}`)
  if (endpoint.deleted === undefined) check("every event arrived", requests.length > 0, `${id} never came`)
  for (const attempt of attempts) {
    const [request] = seen.get(secondOf(attempt)) ?? []
    const about = `${id} at ${secondOf(attempt)}: ${attempt.status ?? attempt.error}, seen ${request?.status}`
    // An answer may be lost on its way back with the worker, or with the connection; it cannot be made up.
    if (attempt.status !== undefined) check("answers were given", request?.status === attempt.status, about)
  }
  const seconds = new Set(attempts.map(secondOf))
  const all = requests.filter(({ t }) => seconds.has(t)).length
  check("requests are attempts", all === requests.length, `${id} has ${requests.length - all} too many`)
  const unseen = attempts.filter((attempt) => !seen.has(secondOf(attempt)))
  const isExplained = unseen.every(({ status }) => status === undefined)
  check(
    "attempts are requests, less lost ones",
    isExplained && attempts.length === requests.length + unseen.length,
    `${id} has ${attempts.length} attempts, ${requests.length} requests`
  )
}

/** What was claimed after a deletion had been answered. */
const checkDeletions = (
  requests: ReadonlyArray<Request>,
  deliveries: ReadonlyArray<Delivery>,
  check: Check
): void => {
  for (const { endpoint, event, t } of requests) {
    if (endpoint.deleted === undefined) continue
    const isBefore = BigInt(t) <= endpoint.deleted.answered.clock / NANOS_PER_SECOND
    check("nothing is sent after deletion", isBefore, `${event} at ${endpoint.id}`)
  }
  for (const { attempts, endpoint, id } of deliveries) {
    const { deleted } = endpoint
    if (deleted === undefined) continue
    for (const { at } of attempts) {
      check("nothing is sent after deletion", at <= deleted.answered.clock, `${id} at ${at}`)
    }
  }
}

interface Counted {
  readonly status: string
  readonly generation: number
  readonly failed: number
  readonly exhausted: number
}

const countedIn = (row: Row): Counted => {
  const { value } = JSON.parse(row.record ?? "null")
  return {
    status: value.status,
    generation: value.generation,
    failed: value.consecutiveFailedAttempts,
    exhausted: value.consecutiveExhaustedDeliveries
  }
}

const isSame = (one: Counted, other: Counted): boolean =>
  one.status === other.status &&
  one.generation === other.generation &&
  one.failed === other.failed &&
  one.exhausted === other.exhausted

/** An endpoint after one more attempt was recorded, the last of its line. */
const counted = (before: Counted, line: Row): Counted => {
  const attempt = attemptsIn(line.record).at(-1)
  const { generation, status } = before
  if (attempt === undefined || isLost(attempt)) return before
  if (status === "deleted" || Number(line.generation) !== generation) return before
  const failed = isArrival(attempt) ? 0 : before.failed + 1
  const exhausted = isArrival(attempt) ? 0 : before.exhausted + (line.state === "exhausted" ? 1 : 0)
  const isOver = failed >= MAX_FAILED || exhausted >= MAX_EXHAUSTED
  return { generation, failed, exhausted, status: status === "active" && isOver ? "disabled" : status }
}

/** What a write that came with no attempt may have made of an endpoint: deleted, or active again with counters of zero. */
const changed = (before: Counted, now: Counted): Counted => {
  if (now.generation !== before.generation) {
    return { status: "active", generation: before.generation + 1, failed: 0, exhausted: 0 }
  }
  return now.status === "deleted" ? { ...before, status: "deleted" } : before
}

/** Each write of an endpoint with the attempts that were recorded in it, whose lines follow its own. */
const writesIn = (lines: ReadonlyArray<Row>) => {
  const writes: Array<{ readonly line: Row; readonly attempts: Array<Row> }> = []
  for (const line of lines) {
    if (line.kind === "endpoint") writes.push({ line, attempts: [] })
    else writes.at(-1)?.attempts.push(line)
  }
  return writes
}

/** Each write of an endpoint moved its counters as the attempts say that were recorded in it. */
const checkCounters = (lines: ReadonlyArray<Row>, last: Row | undefined, check: Check): void => {
  let state: Counted = { status: "active", generation: 0, failed: 0, exhausted: 0 }
  for (const { attempts, line } of writesIn(lines)) {
    const now = countedIn(line)
    const expected = attempts.length === 0 ? changed(state, now) : attempts.reduce(counted, state)
    const about = `${line.endpoint} in line ${line.seq}: ${JSON.stringify(now)}, not ${JSON.stringify(expected)}`
    check("counters are those of a recount", isSame(now, expected), about)
    state = now
  }
  check("the last write stands", last !== undefined && isSame(countedIn(last), state), `${last?.endpoint}`)
}

/** Attempts are added one by one, and none is ever rewritten; what the last line says is in the table. */
const checkHistory = ({ attempts, id }: Delivery, lines: ReadonlyArray<Row>, check: Check): void => {
  const textsOf = (list: ReadonlyArray<Attempt>) =>
    list.map(({ at, ...rest }) => `${at} ${JSON.stringify(rest)}`)
  let known: ReadonlyArray<string> = []
  for (const line of lines) {
    const now = textsOf(attemptsIn(line.record))
    const isGrown = now.length === known.length + 1 && known.every((text, index) => now[index] === text)
    check("attempts are added one by one", isGrown, `${id} in line ${line.seq}`)
    known = now
  }
  const isLast = JSON.stringify(textsOf(attempts)) === JSON.stringify(known)
  check("attempts are added one by one", isLast, `${id} is not what was last recorded`)
}

const lostOf = (
  deliveries: ReadonlyArray<Delivery>,
  requests: ReadonlyMap<string, ReadonlyArray<Request>>
): WebhookAuditReport["lost"] => {
  const lost = deliveries.flatMap(({ attempts, endpoint, event }) =>
    attempts.filter(isLost).map((attempt) => {
      const seen = requests.get(keyOf(endpoint, event)) ?? []
      return seen.some((request) => request.t === secondOf(attempt) && isArrival(request))
    })
  )
  return { all: lost.length, taken: lost.filter((isTaken) => isTaken).length }
}

/** Runs every check. */
export const auditWebhooks = (input: WebhookAuditInput): WebhookAuditReport => {
  const { check, counts, faults } = collectChecks()
  const requests = requestsOf(input, check)
  const deliveries = deliveriesOf(input, check)
  const byKey = groupBy(requests, ({ endpoint, event }) => keyOf(endpoint, event))
  const deliveriesByKey = groupBy(deliveries, ({ endpoint, event }) => keyOf(endpoint, event))
  for (const [key] of byKey) check("requests are of deliveries", deliveriesByKey.has(key), key)
  checkFanOut(input, deliveriesByKey, check)
  checkBodies(requests, deliveries, check)
  checkTenants(input, requests, deliveries, check)
  checkDeletions(requests, deliveries, check)
  const lines = groupBy(input.tables.lines, ({ delivery }) => delivery ?? "")
  for (const delivery of deliveries) {
    checkEnd(delivery, check)
    checkAttempts(delivery, byKey.get(keyOf(delivery.endpoint, delivery.event)) ?? [], check)
    checkHistory(delivery, lines.get(delivery.id) ?? [], check)
  }
  const writes = groupBy(input.tables.lines, ({ endpoint }) => endpoint ?? "")
  for (const { id } of input.endpoints) {
    const last = input.tables.endpoints.find(({ endpoint }) => endpoint === id)
    checkCounters(writes.get(id) ?? [], last, check)
  }
  return { counts, faults, lost: lostOf(deliveries, byKey) }
}
