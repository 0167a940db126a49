import type { Command } from "./Command.ts"
import {
  type Answer,
  type AuthorizationRow,
  type Budget,
  type Change,
  decideProposal,
  decideReport,
  expire,
  type Mandate,
  monthOf,
  refusal
} from "./Decisions.ts"

/** The rows that commands are decided on, as the commands before have left them. */
export class Ledger {
  readonly #mandates = new Map<string, Mandate>()
  readonly #budgets = new Map<string, Budget>()
  readonly #reported = new Map<string, AuthorizationRow>()
  #due: ReadonlyArray<AuthorizationRow> = []

  constructor(rows: {
    readonly mandates: ReadonlyArray<Mandate>
    readonly budgets: ReadonlyArray<Budget>
    readonly reported: ReadonlyArray<AuthorizationRow>
    /** Reservations whose time is over. */
    readonly due: ReadonlyArray<AuthorizationRow>
  }) {
    for (const row of rows.mandates) this.#mandates.set(row.id, row)
    for (const row of rows.budgets) this.#budgets.set(`${row.mandate} ${row.month}`, row)
    for (const row of rows.reported) this.#reported.set(row.id, row)
    this.#due = rows.due
  }

  #budget(mandate: string, month: string): Budget {
    return (
      this.#budgets.get(`${mandate} ${month}`) ?? { mandate, month, reserved: 0, committed: 0, executions: 0 }
    )
  }

  #apply(change: Change): Change {
    this.#mandates.set(change.mandate.id, change.mandate)
    this.#budgets.set(`${change.budget.mandate} ${change.budget.month}`, change.budget)
    if (this.#reported.has(change.authorization.id))
      this.#reported.set(change.authorization.id, change.authorization)
    return change
  }

  #expire(mandate: string, now: Date): ReadonlyArray<Change> {
    const due = this.#due.filter((row) => row.mandate === mandate)
    if (due.length === 0) return []
    this.#due = this.#due.filter((row) => row.mandate !== mandate)
    return due.map((row) =>
      this.#apply(expire(this.#mandates.get(mandate)!, this.#budget(mandate, row.month), row, now))
    )
  }

  /** What a command changes, and its answer, to be given once that is durable. */
  carryOut(
    command: Command,
    now: Date
  ): { readonly answer: Answer; readonly changes: ReadonlyArray<Change> } {
    if (command.kind === "propose") {
      if (!this.#mandates.has(command.mandate)) return { answer: refusal(404, "not_found"), changes: [] }
      const expired = this.#expire(command.mandate, now)
      const mandate = this.#mandates.get(command.mandate)!
      const budget = this.#budget(command.mandate, monthOf(now))
      const change = this.#apply(decideProposal(mandate, budget, command.body, now))
      return { answer: { status: 201, body: change.authorization.resource }, changes: [...expired, change] }
    }
    const authorization = this.#reported.get(command.authorization)
    const mandate = this.#mandates.get(authorization?.mandate ?? "")
    if (authorization === undefined || mandate === undefined)
      return { answer: refusal(404, "not_found"), changes: [] }
    const budget = this.#budget(mandate.id, authorization.month)
    const decided = decideReport(mandate, budget, authorization, command.body, now)
    if ("status" in decided) return { answer: decided, changes: [] }
    this.#apply(decided)
    return { answer: { status: 200, body: decided.authorization.resource }, changes: [decided] }
  }
}
