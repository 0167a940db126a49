import { usageAt } from "@svc/domain/mandate/Usage"
import type { AuthorizationStateName, Decision, Reason } from "@svc/protocol/Authorization"
import type { MandateStateName, Usage } from "@svc/protocol/Mandate"
import type { Expectations } from "./Expectations.ts"
import type { Evidence } from "./OpenEvidence.ts"
import { beginReplay, instantIn, isDecision, type JournalEntry } from "./Replay.ts"
import type { EvidenceReport } from "./Report.ts"
import { openAndVerify } from "./VerifyEvidence.ts"

/** An event of valid evidence, and how things stand once it is applied. */
export interface ReplayedEvent {
  readonly event: JournalEntry
  readonly mandate_state: MandateStateName
  readonly mandate_version: number
  /** Usage of the totals and of the current periods, with their bounds and caps. */
  readonly usage: Usage
  readonly authorization?: {
    readonly id: string
    readonly state: AuthorizationStateName
    /** In minor units. */
    readonly amount: number
  }
  /** On a decision alone. */
  readonly decided?: { readonly decision: Decision; readonly reasons: ReadonlyArray<Reason> }
}

function* replayedEvents(events: ReadonlyArray<JournalEntry>): Generator<ReplayedEvent, void> {
  const replay = beginReplay()
  for (const event of events) {
    const { state } = replay.next(event, 0)
    if (state === undefined) return
    const authorization =
      "authorization_id" in event ? state.authorizations.get(event.authorization_id) : undefined
    yield {
      event,
      mandate_state: state.mandate.state,
      mandate_version: state.mandate.version,
      usage: usageAt(state.mandate, instantIn(event.occurred_at)),
      ...(authorization === undefined
        ? {}
        : {
            authorization: {
              id: authorization.id,
              state: authorization.state,
              amount: authorization.proposedAction.payment.amount
            }
          }),
      ...(isDecision(event)
        ? { decided: { decision: event.data.decision, reasons: event.data.reasons } }
        : {})
    }
  }
}

/**
 * Verifies evidence and gives its events one by one, each with the state that it leads to. Of evidence that is not valid there
 * are none.
 */
export const replayEvidence = async (
  evidence: Evidence,
  keySet: unknown,
  expectations: Expectations = {}
): Promise<{ readonly report: EvidenceReport; readonly events: Iterable<ReplayedEvent> }> => {
  const { events, report } = await openAndVerify(evidence, keySet, expectations)
  return { report, events: { [Symbol.iterator]: () => replayedEvents(events) } }
}
