import { type Authorization, type Client, type RunOutcome, SvcError } from "@svc/client"
import type { Order, Orders, Outcome } from "./Orders.ts"
import type { Payment, PaymentProvider } from "./PaymentProvider.ts"

export interface Agent {
  readonly svc: Client
  readonly provider: PaymentProvider
  readonly orders: Orders
}

/** Keeps what becomes known of one order. */
interface Progress {
  readonly order: () => Order
  readonly keep: (more: Partial<Order>) => void
}

const progressOf = (orders: Orders, given: Order): Progress => {
  let order = given
  return {
    order: () => order,
    keep: (more) => {
      order = { ...order, ...more }
      orders.save(order)
    }
  }
}

const finished = ({ keep }: Progress, outcome: Outcome): Outcome => {
  keep({ outcome })
  return outcome
}

/** Proposes the payment. One that was sent before is sent as it was, under its key, and has the same answer. */
const propose = ({ svc }: Agent, { keep, order }: Progress): Promise<Authorization> => {
  const { amount, id, mandate, opening: stored } = order()
  const proposal = {
    external_reference: id,
    proposed_action: { action: "order.pay", payment: { amount, currency: "EUR" } },
    execution_window_seconds: 900
  }
  if (stored === undefined)
    return svc.authorizations.propose(mandate, proposal, {
      storeOpening: async (opening) => keep({ opening })
    })
  const { commitment, idempotencyKey } = stored
  return svc.authorizations.propose(mandate, { ...proposal, commitment }, { idempotencyKey })
}

/** What is definite at the provider, as it is reported: the same however often it is asked for. */
const outcomeOf = (payment: Payment): Exclude<RunOutcome, { outcome: "uncertain" }> =>
  payment.status === "accepted"
    ? {
        outcome: "accepted",
        provider_transaction_reference: payment.id,
        reported_accepted_at: payment.accepted_at
      }
    : {
        outcome: "refused",
        reason: payment.status === "declined" ? "EXECUTOR_REJECTED" : "CALLER_ABORTED",
        execution_disposition: "NEVER_BECAME_POSSIBLE"
      }

const recorded = (authorization: Authorization): Outcome =>
  authorization.commit === undefined
    ? { status: "not paid", reason: authorization.cancellation?.reason ?? authorization.state }
    : { status: "paid", payment: authorization.commit.provider_transaction_reference }

/**
 * Finds out at the provider what became of a payment that may have been made, and reports it. Nothing is paid here: a payment
 * that was not accepted is closed first, so that it never will be.
 */
const reconcile = async ({ provider, svc }: Agent, progress: Progress): Promise<Outcome> => {
  const { authorization = "", opening, report } = progress.order()
  if (report !== undefined) return finished(progress, recorded(await svc.repeatReport(report)))
  const outcome = outcomeOf(await provider.close(authorization))
  const current = await svc.authorizations.get(authorization)
  if (outcome.outcome === "accepted") {
    const { provider_transaction_reference, reported_accepted_at = "" } = outcome
    const accepted = { provider_transaction_reference, reported_accepted_at }
    await svc.authorizations
      .commit(authorization, {
        external_action_reference: authorization,
        commitment_opening: opening?.opening ?? "",
        ...accepted
      })
      .catch((error: unknown) => {
        // Reported after its reservation had expired, it is recorded all the same.
        if (!(error instanceof SvcError && error.currentState === "EXPIRED")) throw error
      })
    return finished(progress, { status: "paid", payment: provider_transaction_reference })
  }
  const { outcome: _, ...cancellation } = outcome
  if (current.state === "RESERVED") await svc.authorizations.cancel(authorization, cancellation)
  return finished(progress, { status: "not paid", reason: cancellation.reason })
}

/** Pays through `execute`, which asks the service once more whether it may. */
const execute = async (agent: Agent, progress: Progress): Promise<Outcome> => {
  const { authorization = "", id, opening } = progress.order()
  try {
    const execution = await agent.svc.execute(
      authorization,
      async (run) => {
        progress.keep({ isPaymentBegun: true })
        const { execute_before: valid_until = "", proposed_action } = run.authorization
        const order = { ...proposed_action.payment, description: id, valid_until }
        return outcomeOf(await agent.provider.pay(run.externalActionReference, order, run.signal))
      },
      { opening: opening?.opening ?? "" }
    )
    if (execution.outcome !== "uncertain") return finished(progress, recorded(execution.authorization))
    const { report } = execution.reconciliation
    if (report !== undefined) progress.keep({ report })
  } catch (error) {
    // Too late, or the mandate was revoked: nothing was paid, and the reservation is given back.
    if (!(error instanceof SvcError && error.code === "execution_not_allowed")) throw error
  }
  return reconcile(agent, progress)
}

/**
 * Takes an order from where it is to its end. Rejects where that cannot be found out now: the order then stays as it is, and
 * is finished by the next call, in this process or in another one.
 */
export const finishOrder = async (agent: Agent, order: Order): Promise<Outcome> => {
  if (order.outcome !== undefined) return order.outcome
  const progress = progressOf(agent.orders, order)
  if (order.isPaymentBegun) return reconcile(agent, progress)
  const { decision, id, reasons } = await propose(agent, progress)
  progress.keep({ authorization: id })
  if (decision === "ALLOW") return execute(agent, progress)
  return finished(progress, { status: "not paid", reason: reasons.map(({ code }) => code).join(", ") })
}
