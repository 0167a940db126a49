import type { AuthorizationState, Counters, MandateState } from "@svc/domain/mandate/MandateState"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Effect } from "effect"
import {
  DAY,
  followingChange,
  newAuthorization,
  newDigest,
  newPasskey,
  newSession,
  newSubject,
  POLICY
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { appendAndLoad, recordMandate, type StoreIt } from "./StoreUnderTest.ts"

/** Text that storage, drivers and collations have been seen to change. */
const AWKWARD =
  "\u{1d4b3}\u{1f600} \ufb33 \u0001\u001f\u007f \"\\/ \u2028\u2029\ufeff \u00e9 e\u0301 %s ?1 $1 '';--"

const BEYOND_DOUBLES = 2n ** 63n

const FULL_USE: Counters = {
  committedAmount: BEYOND_DOUBLES + 1n,
  reservedAmount: 9_007_199_254_740_993n,
  lateAmount: 1n,
  committedExecutions: 3,
  reservedExecutions: 2,
  lateExecutions: 1
}

/** Every member of an authorization, reports included. */
const fullAuthorization = (now: bigint): AuthorizationState =>
  newAuthorization(1, now, {
    externalReference: AWKWARD,
    decision: "INDETERMINATE",
    state: "COMMITTED",
    closedAt: "2026-01-01T00:00:00.000000001Z",
    reasons: [
      {
        code: "PERIOD_AMOUNT_EXCEEDED",
        pointer: "/policy/periods/0/max_amount",
        detail: AWKWARD,
        limit: 9_007_199_254_740_991,
        requested: 1,
        used: 0,
        reserved: 0,
        period: 0,
        resets_at: "2026-02-01T00:00:00Z",
        resolve_with: [AWKWARD, ""],
        conflicting_authorizations: []
      }
    ],
    proposedAction: {
      action: AWKWARD,
      // Parsed, because a literal `__proto__` would set the prototype and not a member.
      attributes: JSON.parse(
        `{"__proto__":"own","constructor":"c","2":"b","10":"a","\ufb33":"h","\u{1f600}":"g"}`
      ),
      payment: { amount: 9_007_199_254_740_991, currency: "EUR" }
    },
    commit: {
      external_action_reference: AWKWARD,
      provider_transaction_reference: "",
      reported_accepted_at: "2026-01-01T00:00:00.1Z"
    },
    cancellation: {
      reason: "DUPLICATE",
      execution_disposition: "NO_LONGER_POSSIBLE",
      external_credential_reference: AWKWARD
    },
    refunds: [
      {
        amount: 1,
        currency: "EUR",
        provider_refund_reference: AWKWARD,
        reported_refunded_at: "2026-01-02T00:00:00Z"
      }
    ],
    periods: [
      { period: 0, startsAt: -1n, endsAt: now + 1n },
      { period: 4, startsAt: now, endsAt: now + 3650n * DAY }
    ],
    conflicts: [newDigest(), newDigest()],
    late: true
  })

const fullMandate = (mandate: MandateState): MandateState => ({
  terms: { ...mandate.terms, description: AWKWARD },
  state: "EXPIRED",
  version: 4,
  createdAt: mandate.createdAt,
  updatedAt: mandate.updatedAt,
  approvedAt: "2026-01-01T00:00:00.000000009Z",
  endedAt: "2026-01-01T00:00:00.100000000Z",
  endReason: "WINDOW_ENDED",
  revocationReason: AWKWARD,
  totals: FULL_USE,
  periods: [{ period: 1, startsAt: 1n, endsAt: 2n ** 62n + 1n, counters: FULL_USE }],
  authorizationCount: 10_000,
  lateAuthorizations: ["aut_b", "aut_a"]
})

export const fidelityContract = (it: StoreIt): void => {
  it.describe("fidelity", () => {
    it.effect("a mandate comes back as it was recorded, to the nanosecond and the last digit", () =>
      Effect.gen(function* () {
        const current = yield* recordMandate()
        const mandateState = fullMandate(current.stream.state.mandate)
        const { stream } = yield* appendAndLoad(followingChange(current, [], { mandateState }))
        assert.deepStrictEqual(stream.state.mandate, mandateState)
      })
    )

    it.effect("members that are gone stay gone", () =>
      Effect.gen(function* () {
        const first = yield* recordMandate()
        const before = first.stream.state.mandate
        const full = yield* appendAndLoad(followingChange(first, [], { mandateState: fullMandate(before) }))
        const { stream } = yield* appendAndLoad(followingChange(full, [], { mandateState: before }))
        assert.deepStrictEqual(stream.state.mandate, before)
      })
    )

    it.effect("an authorization comes back as it was recorded, in load and in lists", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const row = fullAuthorization(current.now)
        yield* store.append(followingChange(current, [], { authorizations: [row] }))
        const { organization } = current.stream
        const { stream } = yield* store.load({ organization, stream: { authorization: row.id } })
        assert.deepStrictEqual(stream?.state.authorizations.get(row.id), row)
        const mandate = stream!.state.mandate.terms.mandate_id
        const list = yield* store.listAuthorizations({ organization, mandate, limit: 1 })
        assert.deepStrictEqual(list?.authorizations, [row])
        assert.deepStrictEqual(list?.mandate, stream?.state.mandate)
      })
    )

    it.effect("sessions and passkeys come back as they were recorded", () =>
      Effect.gen(function* () {
        const current = yield* recordMandate()
        const { terms } = current.stream.state.mandate
        const session = newSession(current, {
          createdAt: current.now + 1n,
          returnState: AWKWARD,
          boundTo: newDigest(),
          challenge: {
            step: "approve",
            challenge: newDigest(),
            statement: {
              approval_session_id: "aps",
              environment: "test",
              organization_id: terms.organization_id,
              organization_name: AWKWARD,
              mandate_id: terms.mandate_id,
              subject_reference: terms.subject_reference,
              kind: "RECURRING",
              policy: POLICY,
              policy_digest: terms.policy_digest,
              window: terms.window,
              approval_deadline: terms.approval_deadline,
              display: { locale: "de-DE", lines: [{ label: "Betrag", value: AWKWARD }] },
              nonce: newDigest()
            }
          },
          provisionalPasskey: newPasskey({ algorithm: -257, counter: 4_294_967_295 })
        })
        const next = newSubject({
          passkeys: [
            newPasskey({ lastUsedAt: "2026-01-01T00:00:00Z", retiredAt: "2026-01-02T00:00:00Z" }),
            newPasskey({ backupEligible: false })
          ]
        })
        const subject = { reference: terms.subject_reference, expected: "absent" as const, next }
        const { stream } = yield* appendAndLoad(
          followingChange(current, [], { sessions: [session], subject })
        )
        assert.deepStrictEqual(stream.session, session)
        assert.deepStrictEqual(stream.subject, next)
      })
    )
  })
}
