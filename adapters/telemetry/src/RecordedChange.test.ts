import { assert, describe, it } from "@effect/vitest"
import type { AuthorizationState } from "@svc/domain/mandate/MandateState"
import type { SealedEvent } from "@svc/domain/mandate/SealedEvent"
import { makeMetricFamilies } from "./MetricFamilies.ts"
import { countRecorded } from "./RecordedChange.ts"
import { makeServiceMetrics } from "./ServiceMetrics.ts"

const event = (type: SealedEvent["type"], authorizationId?: string) =>
  ({ type, ...(authorizationId === undefined ? {} : { authorizationId }) }) as SealedEvent

const authorization = (id: string, parts: Partial<AuthorizationState>) =>
  ({ id, decision: "ALLOW", reasons: [], late: false, ...parts }) as AuthorizationState

const reason = (code: string) => ({ code, pointer: "", detail: "" }) as AuthorizationState["reasons"][number]

/** The samples that are not 0 after a change with these events and authorizations. */
const counted = (
  events: ReadonlyArray<SealedEvent>,
  authorizations: ReadonlyArray<AuthorizationState>
): ReadonlyArray<string> => {
  const families = makeMetricFamilies()
  countRecorded(makeServiceMetrics(families).decisions, { events, authorizations })
  const isCounted = (line: string) => /^svc_(?:decision|reservation|journal)\S* [1-9]/u.test(line)
  return families.exposition().split("\n").filter(isCounted)
}

describe("what a change records", () => {
  it("is a decision that opens a reservation", () => {
    assert.deepStrictEqual(counted([event("authorization.reserved", "a")], [authorization("a", {})]), [
      'svc_decisions_total{decision="ALLOW"} 1',
      'svc_reservations_total{step="opened"} 1',
      'svc_journal_events_total{type="authorization.reserved"} 1'
    ])
  })

  it("is a refusal for reasons, each of which counts once", () => {
    const reasons = ["PERIOD_AMOUNT_EXCEEDED", "PERIOD_AMOUNT_EXCEEDED", "AMOUNT_ABOVE_MAXIMUM"].map(reason)
    const refused = authorization("a", { decision: "DENY", reasons })
    assert.deepStrictEqual(counted([event("authorization.denied", "a")], [refused]), [
      'svc_decisions_total{decision="DENY"} 1',
      'svc_journal_events_total{type="authorization.denied"} 1',
      'svc_decision_reasons_total{decision="DENY",reason="PERIOD_AMOUNT_EXCEEDED"} 1',
      'svc_decision_reasons_total{decision="DENY",reason="AMOUNT_ABOVE_MAXIMUM"} 1'
    ])
  })

  it("is the end of reservations, some of them with the mandate", () => {
    const events = [
      event("authorization.expired", "a"),
      event("authorization.committed", "b"),
      event("authorization.cancelled", "c"),
      event("mandate.consumed")
    ]
    assert.deepStrictEqual(
      counted(
        events,
        ["a", "b", "c"].map((id) => authorization(id, {}))
      ),
      [
        'svc_reservations_total{step="committed"} 1',
        'svc_reservations_total{step="cancelled"} 1',
        'svc_reservations_total{step="expired"} 1',
        'svc_journal_events_total{type="mandate.consumed"} 1',
        'svc_journal_events_total{type="authorization.committed"} 1',
        'svc_journal_events_total{type="authorization.cancelled"} 1',
        'svc_journal_events_total{type="authorization.expired"} 1'
      ]
    )
  })

  it("is a report that came after the expiry, which closes no reservation", () => {
    assert.deepStrictEqual(
      counted([event("authorization.committed", "a")], [authorization("a", { late: true })]),
      ['svc_journal_events_total{type="authorization.committed"} 1']
    )
  })
})
