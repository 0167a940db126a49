/** Counts a journal again from its texts. Independent of the domain on purpose: it shares no code with it. */
import { createHash } from "node:crypto"

// biome-ignore lint/suspicious/noExplicitAny: read as the journal documents it, and compared
export type Recorded = any

/** JSON with sorted members, for values whose numbers are integers. */
export const canonical = (value: Recorded): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
  return `{${members.join(",")}}`
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url")

export const fingerprintOf = (operation: string, path: object, body: object): string =>
  digest(canonical({ operation, path_parameters: path, body }))

const DAY_MILLISECONDS = 86_400_000

/** The calendar period of UTC in which an instant lies, as [start, end) in milliseconds. */
const periodAt = (unit: string, occurredAt: string): readonly [number, number] => {
  const at = new Date(`${occurredAt.slice(0, 23)}Z`)
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  if (unit === "MONTH") return [Date.UTC(year, month), Date.UTC(year, month + 1)]
  const start = Date.UTC(year, month, day)
  return [start, start + DAY_MILLISECONDS]
}

/** Use of one budget, in the order committed, reserved, late. */
export interface Use {
  readonly amounts: [bigint, bigint, bigint]
  readonly executions: [number, number, number]
}

const COMMITTED = 0
const RESERVED = 1
const LATE = 2
type Slot = typeof COMMITTED | typeof RESERVED | typeof LATE

const noUse = (): Use => ({ amounts: [0n, 0n, 0n], executions: [0, 0, 0] })

const add = ({ amounts, executions }: Use, slot: Slot, amount: bigint, times: 1 | -1): void => {
  amounts[slot] += amount * BigInt(times)
  executions[slot] += times
}

const sum = (list: ReadonlyArray<bigint>): bigint => list.reduce((total, amount) => total + amount, 0n)

export interface Cap {
  readonly max_amount?: number
  readonly max_executions?: number
}

/** What a budget holds beyond a cap, late use counted or not. */
const isOver = ({ amounts, executions }: Use, cap: Cap, withLate: boolean): boolean => {
  const kinds = withLate ? 3 : 2
  const amount = sum(amounts.slice(0, kinds))
  const times = executions.slice(0, kinds).reduce((total, one) => total + one, 0)
  const isAmountOver = cap.max_amount !== undefined && amount > BigInt(cap.max_amount)
  return isAmountOver || (cap.max_executions !== undefined && times > cap.max_executions)
}

export interface Authorization {
  readonly amount: bigint
  readonly order: number
  readonly commitment: string
  readonly reference: string
  /** Keys of the periods that hold its use. */
  readonly periods: ReadonlyArray<string>
  state: string
  terminalEvents: number
  refunded: bigint
}

export interface Recount {
  readonly events: ReadonlyArray<Recorded>
  readonly totals: Use
  /** By `index:start in milliseconds`. */
  readonly periods: ReadonlyMap<string, { readonly use: Use; readonly end: number }>
  readonly authorizations: ReadonlyMap<string, Authorization>
  readonly state: string
  readonly version: number
}

export interface AuditLog {
  /** Counts a check, and records a fault when it does not hold. */
  readonly check: (name: string, holds: boolean, about: string) => void
}

/** The caps of a policy: in all, and by period. A SINGLE mandate has one execution. */
const capsOf = ({
  kind,
  policy
}: Recorded): { readonly total: Cap; readonly periods: ReadonlyArray<Recorded> } => ({
  total:
    kind === "SINGLE"
      ? { max_amount: policy.max_amount, max_executions: 1 }
      : {
          max_amount: policy.max_total_amount,
          ...(policy.max_executions === undefined ? {} : { max_executions: policy.max_executions })
        },
  periods: policy.periods ?? []
})

const STATE_AFTER: Readonly<Record<string, string>> = {
  "mandate.created": "PENDING_APPROVAL",
  "mandate.approved": "ACTIVE",
  "mandate.activated": "ACTIVE",
  "mandate.consumed": "CONSUMED",
  "mandate.revoked": "REVOKED",
  "mandate.rejected": "REJECTED",
  "mandate.expired": "EXPIRED"
}

const OUTCOMES: Readonly<Record<string, string>> = {
  "authorization.committed": "COMMITTED",
  "authorization.cancelled": "CANCELLED",
  "authorization.expired": "EXPIRED"
}

const DECISIONS: Readonly<Record<string, string>> = {
  "authorization.reserved": "RESERVED",
  "authorization.denied": "DENIED",
  "authorization.indeterminate": "INDETERMINATE"
}

/** The chain of one stream: numbers without gaps, canonical texts, hashes, order of time. */
const checkChain = (
  texts: ReadonlyArray<string>,
  about: string,
  { check }: AuditLog
): ReadonlyArray<Recorded> => {
  let previous: Recorded
  return texts.map((text, index) => {
    const event = JSON.parse(text)
    const { hash, ...rest } = event
    check("streams without gaps", event.seq === index + 1, `${about} has ${event.seq} at ${index + 1}`)
    check("canonical texts", canonical(event) === text, `${about} ${event.seq} is not canonical`)
    check(
      "event hashes",
      digest(`svc:journal:event:v1\n${canonical(rest)}`) === hash,
      `${about} ${event.seq} has a wrong hash`
    )
    check(
      "links of the chain",
      event.previous_hash === previous?.hash,
      `${about} ${event.seq} does not follow`
    )
    check(
      "order of time",
      previous === undefined || previous.occurred_at <= event.occurred_at,
      `${about} ${event.seq} is before its predecessor`
    )
    previous = event
    return event
  })
}

/** Folds one stream, and checks at each event what must hold there. */
export const recount = (texts: ReadonlyArray<string>, about: string, log: AuditLog): Recount => {
  const { check } = log
  const events = checkChain(texts, about, log)
  const caps = capsOf(events[0].data)
  const totals = noUse()
  const periods = new Map<string, { readonly use: Use; readonly end: number }>()
  const authorizations = new Map<string, Authorization>()
  let state = ""
  let version = 0

  const currentPeriods = (occurredAt: string): ReadonlyArray<string> =>
    caps.periods.map(({ unit }, index) => {
      const [start, end] = periodAt(unit, occurredAt)
      const key = `${index}:${start}`
      if (!periods.has(key)) periods.set(key, { use: noUse(), end })
      return key
    })
  const capOf = (key: string): Cap => caps.periods[Number(key.split(":")[0])]
  const spend = (keys: ReadonlyArray<string>, slot: Slot, amount: bigint, times: 1 | -1): void => {
    add(totals, slot, amount, times)
    for (const key of keys) add(periods.get(key)?.use ?? noUse(), slot, amount, times)
  }
  const checkCaps = (keys: ReadonlyArray<string>, withLate: boolean, at: string): void => {
    const whole = `budgets kept${withLate ? ", late use counted, at each ALLOW" : " at each event"}`
    check(whole, !isOver(totals, caps.total, withLate), `${about} overspent in all at ${at}`)
    for (const key of keys) {
      const { use } = periods.get(key) ?? { use: noUse() }
      check(whole, !isOver(use, capOf(key), withLate), `${about} overspent in period ${key} at ${at}`)
    }
  }

  const decide = (event: Recorded): void => {
    const { commitment, external_reference: reference, proposed_action, usage } = event.data
    const now = currentPeriods(event.occurred_at)
    check("usage as decided on", isUse(totals, usage), `${about} ${event.seq} was decided on other usage`)
    for (const shown of usage.periods) {
      const use = periods.get(`${shown.period}:${Date.parse(shown.starts_at)}`)?.use ?? noUse()
      check("usage as decided on", isUse(use, shown), `${about} ${event.seq} was decided on other usage`)
    }
    check(
      "one decision per authorization",
      !authorizations.has(event.authorization_id),
      event.authorization_id
    )
    const isAllowed = event.type === "authorization.reserved"
    const amount = BigInt(proposed_action.payment.amount)
    authorizations.set(event.authorization_id, {
      amount,
      order: authorizations.size + 1,
      commitment,
      reference,
      periods: isAllowed ? now : [],
      state: DECISIONS[event.type] ?? "",
      terminalEvents: 0,
      refunded: 0n
    })
    if (!isAllowed) return
    check("ALLOW of active mandates only", state === "ACTIVE", `${about} ${event.seq} in state ${state}`)
    spend(now, RESERVED, amount, 1)
    checkCaps(now, true, event.seq)
  }

  const close = (event: Recorded, authorization: Authorization): void => {
    authorization.terminalEvents++
    check(
      "one terminal event per authorization",
      authorization.terminalEvents === 1 && authorization.state === "RESERVED",
      `${event.authorization_id} has another at ${about} ${event.seq}`
    )
    authorization.state = OUTCOMES[event.type] ?? ""
    spend(authorization.periods, RESERVED, authorization.amount, -1)
    if (authorization.state === "COMMITTED") spend(authorization.periods, COMMITTED, authorization.amount, 1)
  }

  const report = (event: Recorded, authorization: Authorization): void => {
    if (event.type === "authorization.refund_reported") {
      authorization.refunded += BigInt(event.data.amount)
      check(
        "refunds within the committed amount",
        authorization.state === "COMMITTED" && authorization.refunded <= authorization.amount,
        `${event.authorization_id} at ${about} ${event.seq}`
      )
    } else if (event.data.late === true) {
      const now = new Set(currentPeriods(event.occurred_at))
      spend(
        authorization.periods.filter((key) => now.has(key)),
        LATE,
        authorization.amount,
        1
      )
    }
  }

  for (const event of events) {
    const after = STATE_AFTER[event.type]
    if (after !== undefined) {
      const isOpen = ["", "PENDING_APPROVAL", "SCHEDULED", "ACTIVE"].includes(state)
      check("mandates end once", isOpen, `${about} changes at ${event.seq} after ${state}`)
      state = after
      version++
    } else if (DECISIONS[event.type] !== undefined) {
      decide(event)
    } else {
      const authorization = authorizations.get(event.authorization_id)
      check("outcomes of known authorizations", authorization !== undefined, `${about} ${event.seq}`)
      if (authorization !== undefined && OUTCOMES[event.type] !== undefined) close(event, authorization)
      else if (authorization !== undefined) report(event, authorization)
    }
    checkCaps([...periods.keys()], false, event.seq)
    check("versions", event.mandate_version === version, `${about} ${event.seq} has ${event.mandate_version}`)
  }
  return { events, totals, periods, authorizations, state, version }
}

const NAMES = ["committed", "reserved", "late"] as const

/** Whether six counters as the interface shows them are these. */
const isUse = ({ amounts, executions }: Use, shown: Recorded): boolean =>
  NAMES.every(
    (name, slot) =>
      shown[`${name}_amount`] === Number(amounts[slot]) && shown[`${name}_executions`] === executions[slot]
  )

/** Whether six counters as a snapshot keeps them are these. */
export const isKept = ({ amounts, executions }: Use, kept: Recorded): boolean =>
  NAMES.every(
    (name, slot) =>
      kept[`${name}Amount`] === String(amounts[slot]) && kept[`${name}Executions`] === executions[slot]
  )

export const isUnused = ({ executions }: Use): boolean => executions.every((times) => times === 0)
