import type { Pool } from "pg"
import type { ProposalInput, Service } from "svc"

/** Records an order and reserves its amount: both, or neither. */
export const placeOrder = async (
  pool: Pool,
  service: Service,
  order: { readonly id: string; readonly organization: string; readonly mandate: string },
  proposal: ProposalInput
) => {
  const client = await pool.connect()
  try {
    await client.query("begin")
    const authorization = await service.transaction(client, async (within) => {
      await client.query("insert into orders (id) values ($1)", [order.id])
      return within
        .forOrganization(order.organization)
        .authorizations.propose(order.mandate, proposal, { idempotencyKey: `propose-${order.id}` })
    })
    await client.query(authorization.can_execute ? "commit" : "rollback")
    return authorization
  } catch (error) {
    await client.query("rollback")
    throw error
  } finally {
    client.release()
  }
}
