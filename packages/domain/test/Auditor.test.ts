import { assert, describe, it } from "@effect/vitest"
import { sealEventText } from "@svc/protocol/EventHash"
import type { JsonObject } from "@svc/protocol/Json"
import { makeAuditor } from "@svc/testkit/Auditor"
import { replayJournal } from "@svc/testkit/JournalReplay"
import {
  commitReport,
  makeCaller,
  proposalBody,
  singleBody,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms } from "./MemoryPrograms.ts"

const NOW = "2026-12-01T00:00:00Z"

/** A journal as somebody would have it who edits events and mends the chain behind them. */
const rechained = (events: ReadonlyArray<JsonObject>): ReadonlyArray<string> => {
  let previous: string | undefined
  return events.map((event, index) => {
    const { hash: _, previous_hash: __, ...rest } = event
    const { hash, text } = sealEventText({
      ...rest,
      seq: index + 1,
      ...(previous === undefined ? {} : { previous_hash: previous })
    })
    previous = hash
    return text
  })
}

const honest = Effect.gen(function* () {
  const caller = makeCaller()
  yield* fromTheStart
  const { resource } = yield* caller.create(singleBody())
  yield* caller.approve(resource.id)
  const { resource: authorization } = yield* caller.propose(resource.id, proposalBody(1))
  yield* caller.commit(authorization.id, commitReport(1))
  const texts = yield* storedJournal(caller.organization.id, resource.id)
  const events = texts.map((text) => JSON.parse(text) as JsonObject)
  return { caller, mandate: resource.id, authorization: authorization.id, texts, events }
})

const withEvent = (
  events: ReadonlyArray<JsonObject>,
  at: number,
  parts: JsonObject
): ReadonlyArray<JsonObject> => events.map((event, index) => (index === at ? { ...event, ...parts } : event))

const withData = (
  events: ReadonlyArray<JsonObject>,
  at: number,
  parts: JsonObject
): ReadonlyArray<JsonObject> =>
  withEvent(events, at, { data: { ...(events[at]?.data as JsonObject), ...parts } })

describe("the auditor", () => {
  it.effect("finds nothing in an honest life", () =>
    Effect.gen(function* () {
      const { authorization, caller, mandate, texts } = yield* honest
      const auditor = makeAuditor()
      assert.deepStrictEqual(auditor.journal(mandate, texts, NOW), [])
      assert.deepStrictEqual(auditor.mandateShown(yield* caller.read(mandate), NOW), [])
      assert.deepStrictEqual(
        auditor.authorizationShown(yield* caller.readAuthorization(authorization), NOW),
        []
      )
      assert.deepStrictEqual(replayJournal(texts).faults, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  const forgeries: Readonly<
    Record<string, (events: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject>>
  > = {
    "an event left out": (events) => events.filter((_, index) => index !== 3),
    "a second terminal event": (events) => [
      ...events,
      { ...(events[3] as JsonObject), id: "evt_second", mandate_version: 3 }
    ],
    "an event told twice": (events) => [...events, events[3] as JsonObject],
    "a caller's fact as the service's": (events) => withEvent(events, 3, { source: "SERVICE_VERIFIED" }),
    "a version that did not change": (events) => withEvent(events, 4, { mandate_version: 2 }),
    "time that turns back": (events) =>
      withEvent(events, 3, { occurred_at: "2026-11-30T00:00:00.000000000Z" }),
    "an ALLOW with reasons": (events) => withData(events, 2, { reasons: [{ code: "MANDATE_EXPIRED" }] }),
    "an ALLOW after the window": (events) => withData(events, 2, { execute_before: "2028-01-01T00:00:00Z" }),
    "consumed without a commit": (events) => events.filter((_, index) => index !== 2 && index !== 3)
  }
  for (const [title, forge] of Object.entries(forgeries)) {
    it.effect(`finds ${title}, the chain mended`, () =>
      Effect.gen(function* () {
        const { events, mandate } = yield* honest
        assert.isAbove(makeAuditor().journal(mandate, rechained(forge(events)), NOW).length, 0)
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }

  it.effect("finds an amount over the cap that the decision was said to keep", () =>
    Effect.gen(function* () {
      const { events, mandate } = yield* honest
      const two = events.slice(0, 3)
      const second = { ...(events[2] as JsonObject), authorization_id: "aut_2", id: "evt_2" }
      const faults = makeAuditor().journal(mandate, rechained([...two, second]), NOW)
      assert.isTrue(faults.some((fault) => fault.includes("beside another of a SINGLE mandate")))
      assert.isTrue(faults.some((fault) => fault.includes("the commitment is that of")))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect(
    "finds a rewritten event, a stale can_execute, a state that turned back, and what is overdue",
    () =>
      Effect.gen(function* () {
        const caller = makeCaller()
        yield* fromTheStart
        const auditor = makeAuditor()
        const { resource: mandate } = yield* caller.create()
        yield* caller.approve(mandate.id)
        const { resource } = yield* caller.propose(mandate.id, proposalBody(1))
        const texts = yield* storedJournal(caller.organization.id, mandate.id)
        assert.deepStrictEqual(auditor.journal(mandate.id, texts, NOW), [])
        assert.deepStrictEqual(auditor.authorizationShown(resource, NOW), [])
        const late = "2026-12-01T00:05:00Z"
        assert.isAbove(auditor.authorizationShown(resource, late).length, 0)
        assert.isAbove(auditor.journal(mandate.id, texts, late).length, 0)
        yield* TestClock.adjust("300 seconds")
        yield* caller.readAuthorization(resource.id)
        const after = yield* storedJournal(caller.organization.id, mandate.id)
        assert.deepStrictEqual(auditor.journal(mandate.id, after, late), [])
        assert.deepStrictEqual(
          auditor.authorizationShown({ ...resource, state: "EXPIRED", can_execute: false }, late),
          []
        )
        assert.isAbove(auditor.authorizationShown({ ...resource, can_execute: false }, late).length, 0)
        assert.isAbove(auditor.journal(mandate.id, [...after.slice(1), "{}"], late).length, 0)
      }).pipe(Effect.provide(memoryPrograms()))
  )

  it("finds a key with two inputs or two resources", () => {
    const auditor = makeAuditor()
    assert.deepStrictEqual(auditor.written("create", "k", "{}", "mnd_1"), [])
    assert.deepStrictEqual(auditor.written("create", "k", "{}", "mnd_1"), [])
    assert.deepStrictEqual(auditor.written("revoke", "k", "{}", "mnd_1"), ["k: one key, two inputs"])
    assert.strictEqual(auditor.written("create", "k", "[]", "mnd_1").length, 1)
    assert.strictEqual(auditor.written("create", "k", "{}", "mnd_2").length, 1)
  })
})

describe("the replay of a journal", () => {
  const forgeries: Readonly<
    Record<string, (events: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject>>
  > = {
    "a decision that comes out otherwise": (events) =>
      withData(events, 2, {
        proposed_action: { action: "other", payment: { amount: 1000, currency: "EUR" } }
      }),
    "usage that the fold does not have": (events) => {
      const { usage } = (events[2] as JsonObject).data as { readonly usage: JsonObject }
      return withData(events, 2, { usage: { ...usage, committed_amount: 5 } })
    },
    "a version that the fold does not reach": (events) => withEvent(events, 3, { mandate_version: 7 })
  }
  for (const [title, forge] of Object.entries(forgeries)) {
    it.effect(`finds ${title}, the chain mended`, () =>
      Effect.gen(function* () {
        const { events } = yield* honest
        assert.isAbove(replayJournal(rechained(forge(events))).faults.length, 0)
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }

  it.effect("finds a changed byte and a cut tail's successor", () =>
    Effect.gen(function* () {
      const { texts } = yield* honest
      const changed = texts.map((text, index) => (index === 0 ? text.replace("user_8f2", "user_8f3") : text))
      assert.isAbove(replayJournal(changed).faults.length, 0)
      assert.deepStrictEqual(replayJournal(texts.slice(0, 3)).faults, [])
      assert.throws(() => replayJournal([]))
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
