import { assert, describe, it } from "@effect/vitest"
import type { JsonValue } from "@svc/protocol/json/Json"
import {
  type Caller,
  commitReport,
  drawnOpening,
  harnessOrganization,
  makeCaller,
  proposalBody,
  recurringBody,
  refundReport,
  singleBody
} from "@svc/testkit/ProgramHarness"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"

const caller = makeCaller()

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

const active = Effect.fnUntraced(function* (of: Caller = caller, body: JsonValue = recurringBody()) {
  yield* fromTheStart
  const { resource } = yield* of.create(body)
  yield* of.approve(resource.id)
  return resource.id
})

describe("an authorization (part 5)", () => {
  it.effect("has every member when RESERVED, and when COMMITTED with its refunds", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      const { id, ...reserved } = resource
      assert.match(id, /^aut_[0-9a-hjkmnp-tv-z]{26}$/)
      const common = {
        mandate_id: mandate,
        external_reference: "order 1",
        decision: "ALLOW",
        reasons: [],
        execute_before: "2026-12-01T00:05:00.000000000Z",
        proposed_action: { action: "card.create", payment: { amount: 1000, currency: "EUR" } },
        commitment: drawnOpening(1).commitment,
        created_at: "2026-12-01T00:00:00.000000000Z"
      }
      assert.deepStrictEqual(reserved as unknown, { ...common, state: "RESERVED", can_execute: true })
      yield* TestClock.adjust("1500 millis")
      yield* caller.commit(id, commitReport(1, { reported_accepted_at: "2026-12-01T00:00:01.250Z" }))
      const refunded = yield* caller.refund(
        id,
        refundReport(1, { reported_refunded_at: "2026-12-01T00:00:01.0Z" })
      )
      assert.deepStrictEqual(refunded.resource as unknown, {
        id,
        ...common,
        state: "COMMITTED",
        can_execute: false,
        closed_at: "2026-12-01T00:00:01.500000000Z",
        commit: {
          external_action_reference: "act_1",
          provider_transaction_reference: "txn_1",
          reported_accepted_at: "2026-12-01T00:00:01.25Z"
        },
        refunds: [refundReport(1, { reported_refunded_at: "2026-12-01T00:00:01Z" })]
      })
      assert.deepStrictEqual(yield* caller.readAuthorization(id), refunded.resource)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("has only the members of its state when CANCELLED, EXPIRED or DENIED", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const one = yield* caller.propose(mandate, proposalBody(1))
      const cancelled = yield* caller.cancel(one.resource.id)
      assert.deepStrictEqual(cancelled.resource.cancellation as unknown, {
        reason: "EXECUTION_FAILED",
        execution_disposition: "NEVER_BECAME_POSSIBLE"
      })
      assert.strictEqual(cancelled.resource.closed_at, "2026-12-01T00:00:00.000000000Z")
      const two = yield* caller.propose(mandate, proposalBody(2))
      yield* TestClock.adjust("1 hour")
      const expired = yield* caller.readAuthorization(two.resource.id)
      assert.deepStrictEqual(
        [expired.state, expired.closed_at],
        ["EXPIRED", "2026-12-01T00:05:00.000000000Z"]
      )
      const denied = yield* caller.propose(mandate, proposalBody(3, 9999))
      for (const member of ["execute_before", "closed_at", "commit", "cancellation", "refunds"]) {
        assert.notProperty(denied.resource, member)
      }
      assert.deepStrictEqual([denied.resource.state, denied.resource.can_execute], ["DENIED", false])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is executable until execute_before and open until the grace has passed", () =>
    Effect.gen(function* () {
      const patient = makeCaller(harnessOrganization({ reportGraceSeconds: 60 }))
      const mandate = yield* active(patient)
      const { resource } = yield* patient.propose(mandate, proposalBody(1))
      yield* TestClock.adjust("300 seconds")
      const late = yield* patient.readAuthorization(resource.id)
      assert.deepStrictEqual([late.state, late.can_execute], ["RESERVED", false])
      yield* TestClock.adjust("59999 millis")
      assert.strictEqual((yield* patient.readAuthorization(resource.id)).state, "RESERVED")
      yield* TestClock.adjust("1 millis")
      const expired = yield* patient.readAuthorization(resource.id)
      assert.deepStrictEqual(
        [expired.state, expired.closed_at],
        ["EXPIRED", "2026-12-01T00:06:00.000000000Z"]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("cannot be executed once another commit has consumed its mandate", () =>
    Effect.gen(function* () {
      const mandate = yield* active(caller, recurringBody({ max_total_amount: 2000 }))
      const one = yield* caller.propose(mandate, proposalBody(1))
      const two = yield* caller.propose(mandate, proposalBody(2))
      yield* caller.commit(one.resource.id, commitReport(1))
      assert.isTrue((yield* caller.readAuthorization(two.resource.id)).can_execute)
      yield* caller.commit(two.resource.id, commitReport(2))
      assert.strictEqual((yield* caller.read(mandate)).state, "CONSUMED")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is not found under a malformed, unknown or foreign identifier", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      const other = makeCaller(harnessOrganization({ id: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" }))
      assert.strictEqual(yield* tagOf(other.readAuthorization(resource.id)), "NotFound")
      assert.strictEqual(yield* tagOf(other.commit(resource.id, commitReport(1))), "NotFound")
      assert.strictEqual(yield* tagOf(other.cancel(resource.id)), "NotFound")
      assert.strictEqual(yield* tagOf(other.refund(resource.id, refundReport(1))), "NotFound")
      assert.strictEqual(yield* tagOf(other.propose(mandate, proposalBody(2))), "NotFound")
      assert.strictEqual(yield* tagOf(caller.readAuthorization(mandate)), "NotFound")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("the body of a proposal (part 5)", () => {
  const faults = (body: Record<string, unknown>) =>
    Effect.map(Effect.flip(caller.propose("mnd_x", body as never)), (error) =>
      error._tag === "ValidationFailed" ? error.errors.map(({ pointer }) => pointer) : [error._tag]
    )
  const rows: ReadonlyArray<readonly [string, Record<string, unknown>, ReadonlyArray<string>]> = [
    ["a window of 29 s", { execution_window_seconds: 29 }, ["/execution_window_seconds"]],
    ["a window of 30 s", { execution_window_seconds: 30 }, ["NotFound"]],
    ["a window of a day", { execution_window_seconds: 86_400 }, ["NotFound"]],
    ["a window of a day and a second", { execution_window_seconds: 86_401 }, ["/execution_window_seconds"]],
    ["a commitment of 42 characters", { commitment: "A".repeat(42) }, ["/commitment"]],
    ["a commitment with unused bits set", { commitment: `${"A".repeat(42)}B` }, ["/commitment"]],
    ["a padded commitment", { commitment: `${"A".repeat(43)}=` }, ["/commitment"]],
    ["a commitment in hex", { commitment: "0".repeat(64) }, ["/commitment"]],
    ["an unknown member", { can_execute: true }, ["/can_execute"]],
    [
      "no amount",
      { proposed_action: { action: "a", payment: { currency: "EUR" } } },
      ["/proposed_action/payment/amount"]
    ],
    [
      "an unknown currency, which the policy refuses",
      { proposed_action: { action: "a", payment: { amount: 1, currency: "QQQ" } } },
      ["NotFound"]
    ],
    [
      "an amount of 0",
      { proposed_action: { action: "a", payment: { amount: 0, currency: "EUR" } } },
      ["/proposed_action/payment/amount"]
    ],
    [
      "a number as an attribute",
      { proposed_action: { action: "a", attributes: { n: 1 }, payment: { amount: 1, currency: "EUR" } } },
      ["/proposed_action/attributes/n"]
    ],
    [
      "51 attributes",
      {
        proposed_action: {
          action: "a",
          attributes: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`n${index}`, "v"])),
          payment: { amount: 1, currency: "EUR" }
        }
      },
      ["/proposed_action/attributes"]
    ],
    [
      "empty attributes",
      { proposed_action: { action: "a", attributes: {}, payment: { amount: 1, currency: "EUR" } } },
      ["NotFound"]
    ]
  ]
  for (const [title, parts, expected] of rows) {
    it.effect(`is accepted or refused as required with ${title}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* faults({ ...proposalBody(1), ...parts }), expected)
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }
})

describe("lists of authorizations (part 5)", () => {
  it.effect("show the newest first, filter by state, and have cursors of their own", () =>
    Effect.gen(function* () {
      const mandateId = yield* active()
      const ids: Array<string> = []
      for (let number = 1; number <= 4; number++) {
        const amount = number === 2 ? 9999 : 10
        ids.unshift((yield* caller.propose(mandateId, proposalBody(number, amount))).resource.id)
      }
      const shown = (page: { readonly data: ReadonlyArray<{ readonly id: string }> }) =>
        page.data.map(({ id }) => id)
      const first = yield* caller.authorizations({ mandateId, limit: 3 })
      assert.deepStrictEqual([shown(first), first.has_more], [ids.slice(0, 3), true])
      const cursor = first.next_cursor ?? ""
      assert.deepStrictEqual(shown(yield* caller.authorizations({ mandateId, limit: 3, cursor })), [ids[3]])
      assert.deepStrictEqual(shown(yield* caller.authorizations({ mandateId, limit: 3, state: "DENIED" })), [
        ids[2]
      ])
      assert.strictEqual(
        yield* tagOf(caller.authorizations({ mandateId, limit: 3, state: "DENIED", cursor })),
        "InvalidCursor"
      )
      const other = yield* caller.create(singleBody())
      assert.strictEqual(
        yield* tagOf(caller.authorizations({ mandateId: other.resource.id, limit: 3, cursor })),
        "InvalidCursor"
      )
      const nowhere = { mandateId: "mnd_x", limit: 3 }
      assert.strictEqual(yield* tagOf(caller.authorizations({ ...nowhere, cursor: "bad" })), "InvalidCursor")
      assert.strictEqual(yield* tagOf(caller.authorizations(nowhere)), "NotFound")
      yield* TestClock.adjust("300 seconds")
      assert.deepStrictEqual(shown(yield* caller.authorizations({ mandateId, limit: 9, state: "EXPIRED" })), [
        ids[0],
        ids[1],
        ids[3]
      ])
      assert.deepStrictEqual(
        shown(yield* caller.authorizations({ mandateId, limit: 9, state: "RESERVED" })),
        []
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
