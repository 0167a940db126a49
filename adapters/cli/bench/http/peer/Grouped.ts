import type { Command, CommandHandler } from "./Command.ts"
import {
  type Answer,
  type AuthorizationRow,
  type Decided,
  decideProposal,
  decideReport,
  type Mandate,
  refusal
} from "./Decisions.ts"
import { AUTHORIZATION_COLUMNS, inTransaction, MANDATE_COLUMNS, type Pool, type Session } from "./Pg.ts"

/** Commands of one transaction, at most. */
const BATCH = 128

interface Waiting {
  readonly command: Command
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

interface EarlierRow extends Answer {
  readonly key: string
  readonly fingerprint: string
}

/** What the commands of a batch are decided on, with the mandates locked. */
interface Loaded {
  readonly earlier: Map<string, EarlierRow>
  readonly mandates: Map<string, Mandate>
  readonly authorizations: Map<string, AuthorizationRow>
}

const load = async (session: Session, commands: ReadonlyArray<Command>): Promise<Loaded> => {
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
  const earlier = await session.query<EarlierRow>({
    name: "keys",
    text: `select key, fingerprint, status, body from idempotency_key
      where organization = $1 and key = any($2::text[])`,
    values: [organization, commands.map(({ key }) => key)]
  })
  const authorizations = await session.query<AuthorizationRow>({
    name: "authorizations",
    text: `select ${AUTHORIZATION_COLUMNS} from authorization_row where organization = $1 and id = any($2::text[])`,
    values: [organization, reported]
  })
  return {
    earlier: new Map(earlier.rows.map((row) => [row.key, row])),
    mandates: new Map(mandates.rows.map((row) => [row.id, row])),
    authorizations: new Map(authorizations.rows.map((row) => [row.id, row]))
  }
}

const decide = ({ authorizations, mandates }: Loaded, command: Command): Decided => {
  const authorization = command.kind === "commit" ? authorizations.get(command.authorization) : undefined
  const mandate = mandates.get(command.kind === "propose" ? command.mandate : (authorization?.mandate ?? ""))
  if (mandate === undefined) return { answer: refusal(404, "not_found") }
  const now = new Date()
  const decided =
    command.kind === "propose"
      ? decideProposal(mandate, command.body, now)
      : decideReport(mandate, authorization!, command.body, now)
  if (decided.change !== undefined) {
    mandates.set(mandate.id, decided.change.mandate)
    authorizations.set(decided.change.authorization.id, decided.change.authorization)
  }
  return decided
}

type Change = NonNullable<Decided["change"]>

/** Writes what the batch changed, a statement for each table. */
const record = async (
  session: Session,
  organization: string,
  changes: ReadonlyArray<Change>,
  keys: ReadonlyArray<Command & Answer>
): Promise<void> => {
  const rowsOf = (rows: ReadonlyArray<object>) => [organization, JSON.stringify(rows)]
  if (changes.length > 0) {
    await session.query({
      name: "upsert authorizations",
      text: `insert into authorization_row (organization, id, mandate, state, amount, commitment, expires_at, resource)
        select $1, id, mandate, state, amount, commitment, "expiresAt", resource
        from json_to_recordset($2::json) r (id text, mandate text, state text, amount bigint, commitment text,
          "expiresAt" timestamptz, resource text)
        on conflict (organization, id) do update set state = excluded.state, resource = excluded.resource`,
      values: rowsOf([
        ...new Map(changes.map(({ authorization }) => [authorization.id, authorization])).values()
      ])
    })
    await session.query({
      name: "insert events",
      text: `insert into event (organization, mandate, seq, hash, type, text)
        select $1, mandate, seq, hash, type, text
        from json_to_recordset($2::json) r (mandate text, seq bigint, hash text, type text, text text)`,
      values: rowsOf(changes.map(({ event }) => event))
    })
    await session.query({
      name: "update mandates",
      text: `update mandate m set month = r.month, reserved = r.reserved, committed = r.committed,
          executions = r.executions, seq = r.seq, head = r.head
        from json_to_recordset($2::json) r (id text, month date, reserved bigint, committed bigint,
          executions bigint, seq bigint, head text)
        where m.organization = $1 and m.id = r.id`,
      values: rowsOf([...new Map(changes.map(({ mandate }) => [mandate.id, mandate])).values()])
    })
  }
  await session.query({
    name: "insert keys",
    text: `insert into idempotency_key (organization, key, fingerprint, status, body)
      select $1, key, fingerprint, status, body
      from json_to_recordset($2::json) r (key text, fingerprint text, status int, body text)`,
    values: rowsOf(keys.map(({ body, fingerprint, key, status }) => ({ key, fingerprint, status, body })))
  })
}

/** Answers of the commands, all of one organization, once their one transaction is durable. */
const runBatch = (pool: Pool, commands: ReadonlyArray<Command>): Promise<ReadonlyArray<Answer>> =>
  inTransaction(pool, async (session) => {
    const loaded = await load(session, commands)
    const changes: Array<Change> = []
    const keys: Array<Command & Answer> = []
    const answers = commands.map((command) => {
      const earlier = loaded.earlier.get(command.key)
      if (earlier !== undefined)
        return earlier.fingerprint === command.fingerprint ? earlier : refusal(422, "idempotency_key_reused")
      const { answer, change } = decide(loaded, command)
      if (change !== undefined) changes.push(change)
      keys.push({ ...command, ...answer } as Command & Answer)
      loaded.earlier.set(command.key, { key: command.key, fingerprint: command.fingerprint, ...answer })
      return answer
    })
    if (keys.length > 0) await record(session, commands[0]!.organization, changes, keys)
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
