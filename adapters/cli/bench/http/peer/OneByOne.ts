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

const loadBudgets = async (
  session: Session,
  organization: string,
  mandate: string,
  months: ReadonlyArray<string>
): Promise<ReadonlyArray<Budget>> => {
  const { rows } = await session.query<Budget>({
    name: "budgets",
    text: `select ${BUDGET_COLUMNS} from budget where organization = $1 and mandate = $2 and month = any($3::date[])`,
    values: [organization, mandate, months]
  })
  return rows
}

/** Locks the mandate, and reads what a proposal is decided on. */
const loadForProposal = async (
  session: Session,
  { mandate, organization }: Command & { kind: "propose" },
  now: Date
): Promise<Ledger> => {
  const mandates = await session.query<Mandate>({
    name: "lock mandate",
    text: `select ${MANDATE_COLUMNS} from mandate m where organization = $1 and id = $2 for update`,
    values: [organization, mandate]
  })
  const due = await session.query<AuthorizationRow>({
    name: "due",
    text: `select ${AUTHORIZATION_COLUMNS} from authorization_row
      where organization = $1 and mandate = $2 and state = 'RESERVED' and expires_at <= $3`,
    values: [organization, mandate, now]
  })
  const months = [monthOf(now), ...due.rows.map(({ month }) => month)]
  const budgets = await loadBudgets(session, organization, mandate, months)
  return new Ledger({ mandates: mandates.rows, budgets, reported: [], due: due.rows })
}

/** Locks the mandate of the authorization, and reads what a report is decided on. */
const loadForReport = async (
  session: Session,
  { authorization, organization }: Command & { kind: "commit" }
): Promise<Ledger> => {
  const mandates = await session.query<Mandate>({
    name: "lock mandate of authorization",
    text: `select ${MANDATE_COLUMNS} from mandate m
      join authorization_row a on a.organization = m.organization and a.mandate = m.id
      where a.organization = $1 and a.id = $2 for update of m`,
    values: [organization, authorization]
  })
  const { rows } = await session.query<AuthorizationRow>({
    name: "authorization",
    text: `select ${AUTHORIZATION_COLUMNS} from authorization_row where organization = $1 and id = $2`,
    values: [organization, authorization]
  })
  const [row] = rows
  const budgets = row === undefined ? [] : await loadBudgets(session, organization, row.mandate, [row.month])
  return new Ledger({ mandates: mandates.rows, budgets, reported: rows, due: [] })
}

const recordAuthorization = async (
  session: Session,
  organization: string,
  { authorization, isNew }: Change
): Promise<void> => {
  const { amount, commitment, expiresAt, id, mandate, month, resource, state } = authorization
  await session.query(
    isNew
      ? {
          name: "insert authorization",
          text: `insert into authorization_row
            (organization, id, mandate, state, amount, month, commitment, expires_at, resource)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
          values: [organization, id, mandate, state, amount, month, commitment, expiresAt, resource]
        }
      : {
          name: "update authorization",
          text: "update authorization_row set state = $3, resource = $4 where organization = $1 and id = $2",
          values: [organization, id, state, resource]
        }
  )
}

const recordChange = async (session: Session, organization: string, change: Change): Promise<void> => {
  const { budget, event, mandate } = change
  await recordAuthorization(session, organization, change)
  await session.query({
    name: "insert event",
    text: "insert into event (organization, mandate, seq, hash, type, text) values ($1, $2, $3, $4, $5, $6)",
    values: [organization, event.mandate, event.seq, event.hash, event.type, event.text]
  })
  await session.query({
    name: "budget",
    text: `insert into budget (organization, mandate, month, reserved, committed, executions)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (organization, mandate, month) do update
      set reserved = excluded.reserved, committed = excluded.committed, executions = excluded.executions`,
    values: [
      ...[organization, budget.mandate, budget.month],
      ...[budget.reserved, budget.committed, budget.executions]
    ]
  })
  await session.query({
    name: "update mandate",
    text: "update mandate set seq = $3, head = $4 where organization = $1 and id = $2",
    values: [organization, mandate.id, mandate.seq, mandate.head]
  })
}

const recordKey = async (session: Session, command: Command, answer: Answer): Promise<void> => {
  await session.query({
    name: "insert key",
    text: "insert into idempotency_key (organization, key, fingerprint, status, body) values ($1, $2, $3, $4, $5)",
    values: [command.organization, command.key, command.fingerprint, answer.status, answer.body]
  })
}

/** A transaction for each command, which locks the row of its mandate. */
export const oneByOne =
  (pool: Pool): CommandHandler =>
  async (command) => {
    try {
      return await inTransaction(pool, async (session) => {
        const earlier = await earlierAnswer(session, command)
        if (earlier !== undefined) return earlier
        const now = new Date()
        const ledger = await (command.kind === "propose"
          ? loadForProposal(session, command, now)
          : loadForReport(session, command))
        const { answer, changes } = ledger.carryOut(command, now)
        for (const change of changes) await recordChange(session, command.organization, change)
        await recordKey(session, command, answer)
        return answer
      })
    } catch (error) {
      const { code, constraint } = error as { readonly code?: string; readonly constraint?: string }
      if (code !== UNIQUE_VIOLATION) throw error
      return refusal(409, constraint === "idempotency_key_pkey" ? "request_in_progress" : "commitment_reused")
    }
  }
