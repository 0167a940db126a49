import type { Pool } from "pg"
import type { Execution, OrganizationFace, Run, RunOutcome } from "svc"

/** Executes the authorization of an order in the one worker that claims the order. */
export const executeAlone = async (
  pool: Pool,
  shop: OrganizationFace,
  order: { readonly id: string; readonly authorization: string; readonly opening: string },
  pay: (run: Run) => Promise<RunOutcome>
): Promise<Execution["outcome"] | "claimed before"> => {
  const claim = "update orders set claimed_at = now() where id = $1 and claimed_at is null"
  const { rowCount } = await pool.query(claim, [order.id])
  if (rowCount !== 1) return "claimed before"
  const { outcome } = await shop.execute(order.authorization, pay, { opening: order.opening })
  return outcome
}
