import { assert, describe, it } from "@effect/vitest"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import { StoreFaults } from "@svc/testkit/FaultyStore"
import {
  cancelReport,
  commitReport,
  harnessOrganization,
  makeCaller,
  proposalBody,
  recurringBody,
  refundReport,
  singleBody,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { faultyPrograms, fromTheStart, memoryPrograms, racingPrograms } from "../../test/MemoryPrograms.ts"
import { createMandate } from "../programs/Mandates.ts"
import type { WriteRequest } from "./WriteRequest.ts"

const caller = makeCaller()
const organization = caller.organization.id

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

const types = (mandateId: string, of = organization) =>
  Effect.map(storedJournal(of, mandateId), (texts) => texts.map((text) => JSON.parse(text).type as string))

/** An ACTIVE mandate. */
const active = Effect.fnUntraced(function* (body: JsonValue = recurringBody()) {
  yield* fromTheStart
  const { resource } = yield* caller.create(body)
  yield* caller.approve(resource.id)
  return resource.id
})

const json = (text: string): JsonValue => Result.getOrThrow(parseStrictJson(new TextEncoder().encode(text)))

describe("idempotency of creation", () => {
  it.effect("the same key and input is a replay: one resource, one event", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const first = yield* caller.create(recurringBody(), "k")
      const second = yield* caller.create(recurringBody(), "k")
      assert.deepStrictEqual([first.replayed, second.replayed], [false, true])
      assert.deepStrictEqual(second.resource, first.resource)
      assert.deepStrictEqual(yield* types(first.resource.id), ["mandate.created"])
      assert.strictEqual((yield* caller.list({ limit: 100 })).data.length, 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("64 identical at once make one mandate, and 63 are replays", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const all = yield* Effect.all(
        Array.from({ length: 64 }, () => caller.create(recurringBody(), "k")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(all.map(({ resource }) => resource.id)).size, 1)
      assert.strictEqual(all.filter(({ replayed }) => replayed).length, 63)
      assert.strictEqual((yield* caller.list({ limit: 100 })).data.length, 1)
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("another body under the key is a conflict, also one at once with it", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const results = yield* Effect.all(
        [1, 2].map((max_amount) => Effect.result(caller.create(recurringBody({ max_amount }), "k"))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.filter(Result.isSuccess).length, 1)
      assert.strictEqual(yield* tagOf(caller.create(singleBody(), "k")), "IdempotencyKeyReused")
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect(
    "an invalid body binds nothing, so a right one may follow; then the invalid one is a conflict",
    () =>
      Effect.gen(function* () {
        yield* fromTheStart
        assert.strictEqual(yield* tagOf(caller.create({}, "k")), "ValidationFailed")
        assert.strictEqual((yield* caller.create(recurringBody(), "k")).replayed, false)
        assert.strictEqual(yield* tagOf(caller.create({}, "k")), "IdempotencyKeyReused")
        assert.strictEqual(yield* tagOf(caller.create([], "k")), "IdempotencyKeyReused")
      }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("input is compared as JSON values: order, white space, escapes and 1.0 are one input", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const texts = [
        '{"kind":"SINGLE","subject_reference":"a","policy":{"currency":"EUR","max_amount":1,"allowed_actions":["x"]},"window":{"ends_at":"2027-01-01T00:00:00Z"}}',
        '{ "window":{"ends_at":"2027-01-01T00:00:00Z"}, "policy":{"allowed_actions":["\\u0078"],"max_amount":1.0,"currency":"EUR"}, "subject_reference":"\\u0061", "kind":"SINGLE" }'
      ]
      const [first, second] = yield* Effect.all(texts.map((text) => caller.create(json(text), "k")))
      assert.strictEqual(first?.resource.id, second?.resource.id)
      const other = texts[0]?.replace("00:00:00Z", "00:00:00.0Z") ?? ""
      assert.strictEqual(yield* tagOf(caller.create(json(other), "k")), "IdempotencyKeyReused")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a key belongs to its organization", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const other = makeCaller(harnessOrganization({ id: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" }))
      const ours = yield* caller.create(recurringBody(), "k")
      const theirs = yield* other.create(recurringBody(), "k")
      assert.notStrictEqual(ours.resource.id, theirs.resource.id)
      assert.isFalse(theirs.replayed)
      assert.strictEqual(
        (yield* caller.revoke(ours.resource.id, { reason: "r" }, "r")).resource.state,
        "REVOKED"
      )
      assert.strictEqual(yield* tagOf(other.read(ours.resource.id)), "NotFound")
      assert.strictEqual(yield* tagOf(other.revoke(ours.resource.id)), "NotFound")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a replay evaluates nothing again: its window may be over", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const first = yield* caller.create(recurringBody(), "k")
      yield* TestClock.adjust("400 days")
      const replay = yield* caller.create(recurringBody(), "k")
      assert.isTrue(replay.replayed)
      assert.deepStrictEqual(
        [replay.resource.id, replay.resource.state, replay.resource.end_reason],
        [first.resource.id, "EXPIRED", "APPROVAL_DEADLINE_PASSED"]
      )
      assert.strictEqual(yield* tagOf(caller.create(recurringBody(), "k2")), "ValidationFailed")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("idempotency of writes to a stream", () => {
  it.effect("a replay of a proposal shows the state of now, never a stale can_execute", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const first = yield* caller.propose(mandate, proposalBody(1), "k")
      assert.isTrue(first.resource.can_execute)
      yield* TestClock.adjust("299999 millis")
      assert.isTrue((yield* caller.propose(mandate, proposalBody(1), "k")).resource.can_execute)
      yield* TestClock.adjust("1 millis")
      const replay = yield* caller.propose(mandate, proposalBody(1), "k")
      assert.deepStrictEqual(
        [replay.replayed, replay.resource.id, replay.resource.state, replay.resource.can_execute],
        [true, first.resource.id, "EXPIRED", false]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("revoked in between: RESERVED still, and not to be executed", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      yield* caller.propose(mandate, proposalBody(1), "k")
      yield* caller.revoke(mandate)
      const replay = yield* caller.propose(mandate, proposalBody(1), "k")
      assert.deepStrictEqual([replay.resource.state, replay.resource.can_execute], ["RESERVED", false])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("64 identical proposals at once: one authorization, one event", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const all = yield* Effect.all(
        Array.from({ length: 64 }, () => caller.propose(mandate, proposalBody(1), "k")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(all.map(({ resource }) => resource.id)).size, 1)
      assert.strictEqual(all.filter(({ replayed }) => !replayed).length, 1)
      assert.deepStrictEqual(yield* types(mandate), [
        "mandate.created",
        "mandate.approved",
        "authorization.reserved"
      ])
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("shopware 16580: ten commits at once under one key, one event", () =>
    Effect.gen(function* () {
      const mandate = yield* active(singleBody())
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      const all = yield* Effect.all(
        Array.from({ length: 10 }, () => caller.commit(resource.id, commitReport(1), "k")),
        { concurrency: "unbounded" }
      )
      assert.isTrue(all.every((written) => written.resource.state === "COMMITTED"))
      assert.strictEqual(all.filter(({ replayed }) => !replayed).length, 1)
      assert.deepStrictEqual((yield* types(mandate)).slice(2), [
        "authorization.reserved",
        "authorization.committed",
        "mandate.consumed"
      ])
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("the same key on another mandate or authorization is other input", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* active(), yield* active()]
      const first = yield* caller.propose(one, proposalBody(1), "k")
      assert.strictEqual(yield* tagOf(caller.propose(two, proposalBody(1), "k")), "IdempotencyKeyReused")
      assert.strictEqual(yield* tagOf(caller.propose(two, proposalBody(2), "k")), "IdempotencyKeyReused")
      const second = yield* caller.propose(one, proposalBody(2))
      yield* caller.cancel(first.resource.id, cancelReport(), "c")
      assert.strictEqual(
        yield* tagOf(caller.cancel(second.resource.id, cancelReport(), "c")),
        "IdempotencyKeyReused"
      )
      assert.strictEqual(
        (yield* caller.commit(second.resource.id, commitReport(2), "d")).resource.state,
        "COMMITTED"
      )
      assert.strictEqual(
        yield* tagOf(caller.propose("mnd_no_such_mandate", proposalBody(1), "k")),
        "IdempotencyKeyReused"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a DENY stays a DENY under its key, whatever has room since", () =>
    Effect.gen(function* () {
      const mandate = yield* active(recurringBody({ periods: [{ unit: "DAY", max_amount: 1000 }] }))
      yield* caller.propose(mandate, proposalBody(1))
      const denied = yield* caller.propose(mandate, proposalBody(2), "k")
      yield* TestClock.adjust("2 days")
      const replay = yield* caller.propose(mandate, proposalBody(2), "k")
      assert.deepStrictEqual(replay.resource, denied.resource)
      assert.strictEqual(replay.resource.decision, "DENY")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a refusal binds no key", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      const wrong = commitReport(1, { commitment_opening: commitReport(2).commitment_opening as string })
      assert.strictEqual(yield* tagOf(caller.commit(resource.id, wrong, "k")), "CommitmentMismatch")
      assert.strictEqual((yield* caller.commit(resource.id, commitReport(1), "k")).replayed, false)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a conflicting report is recorded, and its 409 binds no key", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      yield* caller.cancel(resource.id)
      const refused = yield* Effect.flip(caller.commit(resource.id, commitReport(1), "k"))
      assert.deepInclude(refused, {
        _tag: "TerminalStateConflict",
        currentState: "CANCELLED",
        resourceId: resource.id
      })
      assert.strictEqual((yield* types(mandate)).at(-1), "authorization.outcome_conflict")
      const length = (yield* types(mandate)).length
      assert.strictEqual(
        yield* tagOf(caller.commit(resource.id, commitReport(1), "k")),
        "TerminalStateConflict"
      )
      assert.strictEqual(
        yield* tagOf(caller.commit(resource.id, commitReport(1), "k2")),
        "TerminalStateConflict"
      )
      assert.strictEqual((yield* types(mandate)).length, length)
      const other = commitReport(1, { external_action_reference: "act_2" })
      assert.strictEqual(yield* tagOf(caller.commit(resource.id, other, "k")), "TerminalStateConflict")
      assert.strictEqual((yield* types(mandate)).length, length + 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("what already is so answers, writes no event, and binds the new key", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      yield* caller.commit(resource.id, commitReport(1))
      const length = (yield* types(mandate)).length
      const again = yield* caller.commit(
        resource.id,
        commitReport(1, { reported_accepted_at: "2026-12-01T00:00:01.000Z" }),
        "k"
      )
      assert.deepStrictEqual([again.replayed, again.resource.state], [false, "COMMITTED"])
      assert.strictEqual(again.resource.commit?.reported_accepted_at, "2026-12-01T00:00:01Z")
      assert.strictEqual(
        yield* tagOf(caller.commit(resource.id, commitReport(1), "k")),
        "IdempotencyKeyReused"
      )
      yield* caller.revoke(mandate, { reason: "r" })
      const revoked = yield* caller.revoke(mandate, { reason: "r" }, "r")
      assert.isFalse(revoked.replayed)
      assert.isTrue((yield* caller.revoke(mandate, { reason: "r" }, "r")).replayed)
      assert.strictEqual((yield* types(mandate)).length, length + 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("each refund key is a report of its own", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      yield* caller.commit(resource.id, commitReport(1))
      yield* caller.refund(resource.id, refundReport(400), "k")
      assert.isTrue((yield* caller.refund(resource.id, refundReport(400), "k")).replayed)
      const second = yield* caller.refund(resource.id, refundReport(400), "k2")
      assert.strictEqual(second.resource.refunds?.length, 2)
      assert.strictEqual(
        yield* tagOf(caller.refund(resource.id, refundReport(400))),
        "RefundExceedsCommitted"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("commitments", () => {
  it.effect("serve one authorization of the organization, whatever was decided", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* active(), yield* active()]
      const denied = yield* caller.propose(one, proposalBody(1, 9999), "k")
      assert.strictEqual(denied.resource.decision, "DENY")
      assert.strictEqual(yield* tagOf(caller.propose(one, proposalBody(1), "k2")), "CommitmentReused")
      assert.strictEqual(yield* tagOf(caller.propose(two, proposalBody(1), "k3")), "CommitmentReused")
      assert.isTrue((yield* caller.propose(one, proposalBody(1, 9999), "k")).replayed)
      assert.strictEqual((yield* types(two)).length, 2)
      assert.isFalse((yield* caller.propose(two, proposalBody(2), "k3")).replayed)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("are free in another organization", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      yield* caller.propose(mandate, proposalBody(1))
      const other = makeCaller(harnessOrganization({ id: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" }))
      const { resource } = yield* other.create()
      assert.strictEqual((yield* other.propose(resource.id, proposalBody(1))).resource.decision, "DENY")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("raced under different keys: one authorization", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* active(), yield* active()]
      const raced = yield* Effect.all(
        Array.from({ length: 20 }, (_, index) =>
          Effect.result(caller.propose(index % 2 === 0 ? one : two, proposalBody(1)))
        ),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(raced.filter(Result.isSuccess).length, 1)
    }).pipe(Effect.provide(racingPrograms()))
  )
})

describe("order of checks", () => {
  it.effect("schema before resource, resource before state", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      assert.strictEqual(yield* tagOf(caller.propose("mnd_x", {})), "ValidationFailed")
      assert.strictEqual(yield* tagOf(caller.propose("mnd_x", proposalBody(1))), "NotFound")
      assert.strictEqual(yield* tagOf(caller.commit("aut_x", {})), "ValidationFailed")
      assert.strictEqual(yield* tagOf(caller.commit("aut_x", commitReport(1))), "NotFound")
      assert.strictEqual(
        yield* tagOf(caller.commit("aut_00000000000000000000000000", commitReport(1))),
        "NotFound"
      )
      assert.strictEqual(yield* tagOf(caller.revoke("MND_00000000000000000000000000")), "NotFound")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a refusal is answered from what is recorded: what was due is, first", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      yield* TestClock.adjust("300 seconds")
      const refused = yield* Effect.flip(caller.refund(resource.id, refundReport(1)))
      assert.deepInclude(refused, { _tag: "StateConflict", currentState: "EXPIRED", resourceId: resource.id })
      assert.strictEqual((yield* types(mandate)).at(-1), "authorization.expired")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a credential that could have acted must be named", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      const body = cancelReport({ execution_disposition: "NO_LONGER_POSSIBLE" })
      const refused = yield* Effect.flip(caller.cancel(resource.id, body))
      assert.deepStrictEqual(
        refused._tag === "ValidationFailed" ? refused.errors.map(({ pointer }) => pointer) : refused._tag,
        ["/external_credential_reference"]
      )
      const named = { ...body, external_credential_reference: "card_1" }
      assert.strictEqual((yield* caller.cancel(resource.id, named)).resource.state, "CANCELLED")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("a mandate that has ended long ago", () => {
  it.effect("still answers proposals, with a DENY", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      yield* TestClock.adjust("400 days")
      const { resource } = yield* caller.propose(mandate, proposalBody(1))
      assert.deepStrictEqual(
        [resource.decision, resource.reasons.map(({ code }) => code)],
        ["DENY", ["MANDATE_EXPIRED"]]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("lost answers", () => {
  const moments = ["before", "after"] as const
  for (const moment of moments) {
    it.effect(`creation, ${moment} the append: the retry gives one mandate and one event`, () =>
      Effect.gen(function* () {
        yield* fromTheStart
        const faults = yield* StoreFaults
        yield* faults.plan({ operation: "append", nth: 1, moment })
        const request: WriteRequest = {
          organization: caller.organization,
          idempotencyKey: "k",
          body: recurringBody()
        }
        assert.strictEqual(yield* tagOf(createMandate(request)), "StoreUnavailable")
        const retried = yield* createMandate(request)
        assert.strictEqual(retried.replayed, moment === "after")
        assert.strictEqual((yield* caller.list({ limit: 100 })).data.length, 1)
        assert.deepStrictEqual(yield* types(retried.resource.id), ["mandate.created"])
      }).pipe(Effect.provide(faultyPrograms()))
    )

    it.effect(`proposal, commit, refund and revocation, ${moment} the append`, () =>
      Effect.gen(function* () {
        const mandate = yield* active()
        const faults = yield* StoreFaults
        const twice = <A extends { readonly replayed: boolean }, E extends { readonly _tag: string }, R>(
          write: () => Effect.Effect<A, E, R>
        ) =>
          Effect.gen(function* () {
            yield* faults.plan({ operation: "append", nth: 1, moment })
            assert.strictEqual(yield* tagOf(write()), "StoreUnavailable")
            const retried = yield* write()
            assert.strictEqual(retried.replayed, moment === "after")
            return retried
          })
        const proposed = yield* twice(() => caller.propose(mandate, proposalBody(1), "p"))
        const id = proposed.resource.id
        yield* twice(() => caller.commit(id, commitReport(1), "c"))
        yield* twice(() => caller.refund(id, refundReport(1), "f"))
        yield* twice(() => caller.revoke(mandate, { reason: "r" }, "r"))
        assert.deepStrictEqual(yield* types(mandate), [
          "mandate.created",
          "mandate.approved",
          "authorization.reserved",
          "authorization.committed",
          "authorization.refund_reported",
          "mandate.revoked"
        ])
      }).pipe(Effect.provide(faultyPrograms()))
    )

    it.effect(`a transition that came due, ${moment} the append: not shown until it is recorded`, () =>
      Effect.gen(function* () {
        const mandate = yield* active()
        const { resource } = yield* caller.propose(mandate, proposalBody(1))
        yield* TestClock.adjust("1 hour")
        const faults = yield* StoreFaults
        yield* faults.plan({ operation: "append", nth: 1, moment })
        assert.strictEqual(yield* tagOf(caller.readAuthorization(resource.id)), "StoreUnavailable")
        assert.strictEqual((yield* caller.readAuthorization(resource.id)).state, "EXPIRED")
        assert.strictEqual(
          (yield* types(mandate)).filter((type) => type === "authorization.expired").length,
          1
        )
      }).pipe(Effect.provide(faultyPrograms()))
    )
  }

  it.effect("a load that fails changes nothing", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      const faults = yield* StoreFaults
      yield* faults.plan({ operation: "load", nth: 1, moment: "before" })
      assert.strictEqual(yield* tagOf(caller.propose(mandate, proposalBody(1), "k")), "StoreUnavailable")
      assert.strictEqual((yield* caller.propose(mandate, proposalBody(1), "k")).replayed, false)
    }).pipe(Effect.provide(faultyPrograms()))
  )
})

describe("many at once on one mandate", () => {
  it.effect("litellm 34732: budget 10000, fifty of 3000, exactly three ALLOW", () =>
    Effect.gen(function* () {
      const mandate = yield* active(recurringBody({ periods: [{ unit: "MONTH", max_amount: 10_000 }] }))
      const all = yield* Effect.all(
        Array.from({ length: 50 }, (_, index) => caller.propose(mandate, proposalBody(index, 3000))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(all.filter(({ resource }) => resource.decision === "ALLOW").length, 3)
      assert.strictEqual((yield* types(mandate)).length, 52)
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("pay-connector 152: commit, cancel, revoke and expiry raced: one terminal event", () =>
    Effect.gen(function* () {
      const mandate = yield* active()
      for (let round = 0; round < 30; round++) {
        const { resource } = yield* caller.propose(mandate, proposalBody(round, 1))
        if (round % 3 === 0) yield* TestClock.adjust("300 seconds")
        yield* Effect.all(
          [
            Effect.result(caller.commit(resource.id, commitReport(round))),
            Effect.result(caller.cancel(resource.id)),
            Effect.result(caller.readAuthorization(resource.id))
          ],
          { concurrency: "unbounded" }
        )
      }
      const texts = yield* storedJournal(organization, mandate)
      const terminal = texts
        .map((text) => JSON.parse(text) as JsonObject)
        .filter(({ type }) => /^authorization\.(committed|cancelled|expired)$/.test(String(type)))
      assert.strictEqual(terminal.length, 30)
      assert.strictEqual(new Set(terminal.map((event) => event.authorization_id)).size, 30)
    }).pipe(Effect.provide(racingPrograms()))
  )
})
