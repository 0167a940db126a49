import type { Mandate, MandateRecord } from "@svc/protocol/Mandate"
import type { Instant } from "@svc/protocol/Timestamp"
import type { MandateState } from "./MandateState.ts"
import { ownCopy } from "./OwnCopy.ts"
import { usageAt } from "./Usage.ts"

/** The mandate resource without `usage`, as evidence carries it (part 7). */
export const mandateRecordOf = (mandate: MandateState): MandateRecord => {
  const { terms } = mandate
  return {
    id: terms.mandate_id as MandateRecord["id"],
    kind: terms.kind,
    subject_reference: terms.subject_reference,
    state: mandate.state,
    version: mandate.version,
    policy: terms.policy,
    policy_digest: terms.policy_digest,
    window: terms.window,
    approval_deadline: terms.approval_deadline,
    ...(terms.description === undefined ? {} : { description: terms.description }),
    created_at: mandate.createdAt,
    updated_at: mandate.updatedAt,
    ...(mandate.approvedAt === undefined ? {} : { approved_at: mandate.approvedAt }),
    ...(mandate.endedAt === undefined ? {} : { ended_at: mandate.endedAt }),
    ...(mandate.endReason === undefined ? {} : { end_reason: mandate.endReason }),
    ...(mandate.revocationReason === undefined ? {} : { revocation: { reason: mandate.revocationReason } })
  }
}

/**
 * The mandate resource at an instant (part 4). It shares nothing with the state, on which the next command may be decided: its
 * caller may change it.
 */
export const mandateResourceOf = (mandate: MandateState, now: Instant): Mandate =>
  ownCopy({ ...mandateRecordOf(mandate), usage: usageAt(mandate, now) })
