import type { Authorization } from "@svc/protocol/Authorization"
import type { Instant } from "@svc/protocol/Timestamp"
import type { AuthorizationState, MandateState } from "./MandateState.ts"
import { ownCopy } from "./OwnCopy.ts"
import { instantOf } from "./PreparedTerms.ts"

/** The execution gate: RESERVED, on an ACTIVE mandate, before the deadline (part 5). */
const canExecute = (authorization: AuthorizationState, mandate: MandateState, now: Instant): boolean =>
  authorization.state === "RESERVED" &&
  mandate.state === "ACTIVE" &&
  authorization.executeBefore !== undefined &&
  now < instantOf(authorization.executeBefore)

/**
 * The authorization resource at an instant (part 5). It shares nothing with the state, on which the next command may be decided:
 * its caller may change it.
 */
export const authorizationResourceOf = (
  authorization: AuthorizationState,
  mandate: MandateState,
  now: Instant
): Authorization =>
  ownCopy({
    id: authorization.id as Authorization["id"],
    mandate_id: mandate.terms.mandate_id as Authorization["mandate_id"],
    external_reference: authorization.externalReference,
    decision: authorization.decision,
    reasons: authorization.reasons,
    state: authorization.state,
    can_execute: canExecute(authorization, mandate, now),
    ...(authorization.executeBefore === undefined ? {} : { execute_before: authorization.executeBefore }),
    proposed_action: authorization.proposedAction,
    commitment: authorization.commitment,
    created_at: authorization.createdAt,
    ...(authorization.closedAt === undefined ? {} : { closed_at: authorization.closedAt }),
    ...(authorization.commit === undefined ? {} : { commit: authorization.commit }),
    ...(authorization.cancellation === undefined ? {} : { cancellation: authorization.cancellation }),
    ...(authorization.refunds.length === 0 ? {} : { refunds: authorization.refunds })
  })
