import { parseTimestamp } from "@svc/protocol/Timestamp"
import type { AuthorizationState, OpenReservation } from "./MandateState.ts"

/**
 * What an authorization in state RESERVED holds, and until when (part 5). Throws a `RangeError` when its
 * `expiresAt` is absent or no timestamp: a reservation without an end would never release its budget.
 */
export const openReservationOf = (authorization: AuthorizationState): OpenReservation => {
  const expiresAt = parseTimestamp(authorization.expiresAt ?? "")
  if (expiresAt === undefined) throw new RangeError("an open reservation has an instant at which it expires")
  return {
    id: authorization.id,
    order: authorization.order,
    amount: BigInt(authorization.proposedAction.payment.amount),
    expiresAt,
    periods: authorization.periods
  }
}
