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
import {
  AUTHORIZATION_COLUMNS,
  inTransaction,
  MANDATE_COLUMNS,
  type Pool,
  type Session,
  UNIQUE_VIOLATION
} from "./Pg.ts"

/** The answer that the key got before, if it was used. */
const earlierAnswer = async (session: Session, command: Command): Promise<Answer | undefined> => {
  const { rows } = await session.query<Answer & { readonly fingerprint: string }>({
    name: "key",
    text: "select fingerprint, status, body from idempotency_key where organization = $1 and key = $2",
    values: [command.organization, command.key]
  })
  const [row] = rows
  if (row === undefined) return undefined
  return row.fingerprint === command.fingerprint ? row : refusal(422, "idempotency_key_reused")
}

const record = async (session: Session, command: Command, { answer, change }: Decided): Promise<void> => {
  const { organization } = command
  if (change !== undefined) {
    const { authorization, event, mandate } = change
    if (command.kind === "propose") {
      await session.query({
        name: "insert authorization",
        text: `insert into authorization_row (organization, id, mandate, state, amount, commitment, expires_at, resource)
          values ($1, $2, $3, $4, $5, $6, $7, $8)`,
        values: [
          ...[organization, authorization.id, authorization.mandate, authorization.state],
          ...[authorization.amount, authorization.commitment, authorization.expiresAt, authorization.resource]
        ]
      })
    } else {
      await session.query({
        name: "update authorization",
        text: "update authorization_row set state = $3, resource = $4 where organization = $1 and id = $2",
        values: [organization, authorization.id, authorization.state, authorization.resource]
      })
    }
    await session.query({
      name: "insert event",
      text: "insert into event (organization, mandate, seq, hash, type, text) values ($1, $2, $3, $4, $5, $6)",
      values: [organization, event.mandate, event.seq, event.hash, event.type, event.text]
    })
    await session.query({
      name: "update mandate",
      text: `update mandate set month = $3, reserved = $4, committed = $5, executions = $6, seq = $7, head = $8
        where organization = $1 and id = $2`,
      values: [
        ...[organization, mandate.id, mandate.month, mandate.reserved],
        ...[mandate.committed, mandate.executions, mandate.seq, mandate.head]
      ]
    })
  }
  await session.query({
    name: "insert key",
    text: `insert into idempotency_key (organization, key, fingerprint, status, body) values ($1, $2, $3, $4, $5)`,
    values: [organization, command.key, command.fingerprint, answer.status, answer.body]
  })
}

const propose = async (session: Session, command: Command & { kind: "propose" }): Promise<Decided> => {
  const { rows } = await session.query<Mandate>({
    name: "lock mandate",
    text: `select ${MANDATE_COLUMNS} from mandate m where organization = $1 and id = $2 for update`,
    values: [command.organization, command.mandate]
  })
  const [mandate] = rows
  if (mandate === undefined) return { answer: refusal(404, "not_found") }
  return decideProposal(mandate, command.body, new Date())
}

const commit = async (session: Session, command: Command & { kind: "commit" }): Promise<Decided> => {
  const { rows } = await session.query<Mandate>({
    name: "lock mandate of authorization",
    text: `select ${MANDATE_COLUMNS} from mandate m
      join authorization_row a on a.organization = m.organization and a.mandate = m.id
      where a.organization = $1 and a.id = $2 for update of m`,
    values: [command.organization, command.authorization]
  })
  const [mandate] = rows
  if (mandate === undefined) return { answer: refusal(404, "not_found") }
  const found = await session.query<AuthorizationRow>({
    name: "authorization",
    text: `select ${AUTHORIZATION_COLUMNS} from authorization_row where organization = $1 and id = $2`,
    values: [command.organization, command.authorization]
  })
  return decideReport(mandate, found.rows[0]!, command.body, new Date())
}

/** A transaction for each command, which locks the row of its mandate. */
export const oneByOne =
  (pool: Pool): CommandHandler =>
  async (command) => {
    try {
      return await inTransaction(pool, async (session) => {
        const earlier = await earlierAnswer(session, command)
        if (earlier !== undefined) return earlier
        const decided =
          command.kind === "propose" ? await propose(session, command) : await commit(session, command)
        await record(session, command, decided)
        return decided.answer
      })
    } catch (error) {
      const { code, constraint } = error as { readonly code?: string; readonly constraint?: string }
      if (code !== UNIQUE_VIOLATION) throw error
      return refusal(409, constraint === "idempotency_key_pkey" ? "request_in_progress" : "commitment_reused")
    }
  }
