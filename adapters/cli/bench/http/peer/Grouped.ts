import type { Command, CommandHandler } from "./Command.ts"
import {
  type Answer,
  type AuthorizationRow,
  type Budget,
  type Change,
  type Mandate,
  monthOf,
  refusal
} from "./Decisions.ts"
import { Ledger } from "./Ledger.ts"
import {
  AUTHORIZATION_COLUMNS,
  BUDGET_COLUMNS,
  inTransaction,
  MANDATE_COLUMNS,
  type Pool,
  type Session
} from "./Pg.ts"

/** Commands of one transaction, at most. */
const BATCH = 128

interface Waiting {
  readonly command: Command
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** Locks the mandates of the commands, and reads what these are decided on. */
const loadLedger = async (session: Session, commands: ReadonlyArray<Command>, now: Date): Promise<Ledger> => {
  const { organization } = commands[0]!
  const proposed = commands.flatMap((command) => (command.kind === "propose" ? [command.mandate] : []))
  const reported = commands.flatMap((command) => (command.kind === "commit" ? [command.authorization] : []))
  const mandates = await session.query<Mandate>({
    name: "lock mandates",
    text: `select ${MANDATE_COLUMNS} from mandate m
      where organization = $1 and id in (
        select unnest($2::text[])
        union select mandate from authorization_row where organization = $1 and id = any($3::text[]))
      order by id for update`,
    values: [organization, proposed, reported]
  })
  const authorizations = await session.query<AuthorizationRow>({
    name: "authorizations",
    text: `select ${AUTHORIZATION_COLUMNS} from authorization_row where organization = $1 and id = any($2::text[])`,
    values: [organization, reported]
  })
  const due = await session.query<AuthorizationRow>({
    name: "due of mandates",
    text: `select ${AUTHORIZATION_COLUMNS} from authorization_row
      where organization = $1 and mandate = any($2::text[]) and state = 'RESERVED' and expires_at <= $3`,
    values: [organization, proposed, now]
  })
  const months = [...authorizations.rows, ...due.rows].map(({ month }) => month)
  const budgets = await session.query<Budget>({
    name: "budgets of mandates",
    text: `select ${BUDGET_COLUMNS} from budget
      where organization = $1 and mandate = any($2::text[]) and month = any($3::date[])`,
    values: [organization, mandates.rows.map(({ id }) => id), [...new Set([monthOf(now), ...months])]]
  })
  return new Ledger({
    mandates: mandates.rows,
    budgets: budgets.rows,
    reported: authorizations.rows,
    due: due.rows.filter(({ id }) => !reported.includes(id))
  })
}

interface KeyRow extends Answer {
  readonly key: string
  readonly fingerprint: string
}

const loadKeys = async (session: Session, commands: ReadonlyArray<Command>): Promise<Map<string, KeyRow>> => {
  const { rows } = await session.query<KeyRow>({
    name: "keys",
    text: `select key, fingerprint, status, body from idempotency_key
      where organization = $1 and key = any($2::text[])`,
    values: [commands[0]!.organization, commands.map(({ key }) => key)]
  })
  return new Map(rows.map((row) => [row.key, row]))
}

/** The last row of each key: what the batch as a whole leaves. */
const lastOf = <Row extends object>(rows: ReadonlyArray<Row>, keyOf: (row: Row) => string) => [
  ...new Map(rows.map((row) => [keyOf(row), row])).values()
]

/** Writes what the batch changed, a statement for each table. */
const record = async (
  session: Session,
  organization: string,
  changes: ReadonlyArray<Change>,
  keys: ReadonlyArray<KeyRow>
): Promise<void> => {
  const write = (name: string, text: string, rows: ReadonlyArray<object>) =>
    rows.length === 0
      ? undefined
      : session.query({ name, text, values: [organization, JSON.stringify(rows)] })
  await write(
    "upsert authorizations",
    `insert into authorization_row (organization, id, mandate, state, amount, month, commitment, expires_at, resource)
      select $1, id, mandate, state, amount, month, commitment, "expiresAt", resource
      from json_to_recordset($2::json) r (id text, mandate text, state text, amount bigint, month date,
        commitment text, "expiresAt" timestamptz, resource text)
      on conflict (organization, id) do update set state = excluded.state, resource = excluded.resource`,
    lastOf(
      changes.map(({ authorization }) => authorization),
      ({ id }) => id
    )
  )
  await write(
    "insert events",
    `insert into event (organization, mandate, seq, hash, type, text)
      select $1, mandate, seq, hash, type, text
      from json_to_recordset($2::json) r (mandate text, seq bigint, hash text, type text, text text)`,
    changes.map(({ event }) => event)
  )
  await write(
    "upsert budgets",
    `insert into budget (organization, mandate, month, reserved, committed, executions)
      select $1, mandate, month, reserved, committed, executions
      from json_to_recordset($2::json) r (mandate text, month date, reserved bigint, committed bigint,
        executions bigint)
      on conflict (organization, mandate, month) do update
      set reserved = excluded.reserved, committed = excluded.committed, executions = excluded.executions`,
    lastOf(
      changes.map(({ budget }) => budget),
      ({ mandate, month }) => `${mandate} ${month}`
    )
  )
  await write(
    "update mandates",
    `update mandate m set seq = r.seq, head = r.head
      from json_to_recordset($2::json) r (id text, seq bigint, head text)
      where m.organization = $1 and m.id = r.id`,
    lastOf(
      changes.map(({ mandate }) => mandate),
      ({ id }) => id
    )
  )
  await write(
    "insert keys",
    `insert into idempotency_key (organization, key, fingerprint, status, body)
      select $1, key, fingerprint, status, body
      from json_to_recordset($2::json) r (key text, fingerprint text, status int, body text)`,
    keys
  )
}

/** Answers of the commands, all of one organization, once their one transaction is durable. */
const runBatch = (pool: Pool, commands: ReadonlyArray<Command>): Promise<ReadonlyArray<Answer>> =>
  inTransaction(pool, async (session) => {
    const now = new Date()
    const ledger = await loadLedger(session, commands, now)
    const earlier = await loadKeys(session, commands)
    const changes: Array<Change> = []
    const keys: Array<KeyRow> = []
    const answers = commands.map((command) => {
      const { fingerprint, key } = command
      const before = earlier.get(key)
      if (before !== undefined)
        return before.fingerprint === fingerprint ? before : refusal(422, "idempotency_key_reused")
      const carried = ledger.carryOut(command, now)
      const row = { key, fingerprint, ...carried.answer }
      changes.push(...carried.changes)
      keys.push(row)
      earlier.set(key, row)
      return carried.answer
    })
    await record(session, commands[0]!.organization, changes, keys)
    return answers
  })

/**
 * Many commands in a transaction: those that come while one is at work wait, and are the next. If a batch fails, each of
 * its commands is carried out by itself.
 */
export const grouped = (pool: Pool, single: CommandHandler): CommandHandler => {
  const queue: Array<Waiting> = []
  let isRunning = false
  const takeBatch = (): ReadonlyArray<Waiting> => {
    const { organization } = queue[0]!.command
    const other = queue.findIndex(({ command }) => command.organization !== organization)
    return queue.splice(0, Math.min(BATCH, other < 0 ? queue.length : other))
  }
  const drain = async () => {
    isRunning = true
    while (queue.length > 0) {
      const batch = takeBatch()
      try {
        const answers = await runBatch(
          pool,
          batch.map(({ command }) => command)
        )
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index]!)
      } catch {
        await Promise.all(batch.map(({ command, reject, resolve }) => single(command).then(resolve, reject)))
      }
    }
    isRunning = false
  }
  return (command) =>
    new Promise((resolve, reject) => {
      queue.push({ command, resolve, reject })
      if (!isRunning) void drain()
    })
}
