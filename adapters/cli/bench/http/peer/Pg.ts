import { importPeer } from "../../Peers.ts"

/** What the service uses of `pg`. */
export interface Session {
  readonly query: <Row = Readonly<Record<string, unknown>>>(statement: {
    readonly name?: string
    readonly text: string
    readonly values?: ReadonlyArray<unknown>
  }) => Promise<{ readonly rows: ReadonlyArray<Row> }>
}

export interface Pool extends Session {
  readonly connect: () => Promise<Session & { readonly release: (isBroken?: boolean) => void }>
  readonly on: (event: "error", listener: (error: Error) => void) => void
}

interface Pg {
  readonly default: { readonly Pool: new (options: object) => Pool }
}

export const UNIQUE_VIOLATION = "23505"

/** As many connections as the service itself opens. */
const CONNECTIONS = 20

export const openPool = async (connectionString: string): Promise<Pool> => {
  const { default: pg } = await importPeer<Pg>("pg")
  return new pg.Pool({ connectionString, max: CONNECTIONS, idleTimeoutMillis: 0 })
}

/** Runs in a transaction, which is durable when this returns. */
export const inTransaction = async <A>(pool: Pool, run: (session: Session) => Promise<A>): Promise<A> => {
  const session = await pool.connect()
  try {
    await session.query({ text: "begin" })
    const result = await run(session)
    await session.query({ text: "commit" })
    session.release()
    return result
  } catch (error) {
    await session.query({ text: "rollback" }).then(
      () => session.release(),
      () => session.release(true)
    )
    throw error
  }
}

export const MANDATE_COLUMNS = `m.id, m.status, m.currency, m.max_amount::float8 as "maxAmount",
  m.allowed_actions as "allowedActions", m.ends_at as "endsAt", m.month_limit::float8 as "monthLimit",
  m.seq::float8 as seq, m.head`

export const BUDGET_COLUMNS = `mandate, month::text as month, reserved::float8 as reserved,
  committed::float8 as committed, executions::float8 as executions`

export const AUTHORIZATION_COLUMNS = `id, mandate, state, amount::float8 as amount, month::text as month, commitment,
  expires_at as "expiresAt", resource`
