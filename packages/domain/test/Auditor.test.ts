import { assert, describe, it } from "@effect/vitest"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { sealEventText } from "@svc/protocol/evidence/EventHash"
import type { JsonObject } from "@svc/protocol/json/Json"
import { collectChecks } from "@svc/testkit/AuditLog"
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

/** An auditor, and the names of the checks that did not hold since they were last asked for. */
const audited = () => {
  const log = collectChecks()
  let seen = 0
  const failed = (): ReadonlyArray<string> => {
    const names = log.faults.slice(seen).map((fault) => fault.split(":")[0] ?? "")
    seen = log.faults.length
    return [...new Set(names)]
  }
  return { ...makeAuditor(log), failed }
}

describe("the auditor", () => {
  it.effect("finds nothing in an honest life", () =>
    Effect.gen(function* () {
      const { authorization, caller, mandate, texts } = yield* honest
      const auditor = audited()
      auditor.journal(mandate, texts, NOW)
      auditor.mandateShown(yield* caller.read(mandate), NOW)
      auditor.authorizationShown(yield* caller.readAuthorization(authorization), NOW)
      assert.deepStrictEqual(auditor.failed(), [])
      assert.deepStrictEqual(replayJournal(texts).faults, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  const forgeries: Readonly<
    Record<
      string,
      readonly [found: string, forge: (events: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject>]
    >
  > = {
    "an event left out": ["what is due comes first", (events) => events.filter((_, index) => index !== 3)],
    "a second terminal event": [
      "one terminal event per authorization",
      (events) => [...events, { ...(events[3] as JsonObject), id: "evt_second", mandate_version: 3 }]
    ],
    "an event told twice": ["one event per identifier", (events) => [...events, events[3] as JsonObject]],
    "a caller's fact as the service's": [
      "sources of events",
      (events) => withEvent(events, 3, { source: "SERVICE_VERIFIED" })
    ],
    "a version that did not change": ["versions", (events) => withEvent(events, 4, { mandate_version: 2 })],
    "time that turns back": [
      "order of time",
      (events) => withEvent(events, 3, { occurred_at: "2026-11-30T00:00:00.000000000Z" })
    ],
    "an ALLOW with reasons": [
      "reasons of all but ALLOW",
      (events) => withData(events, 2, { reasons: [{ code: "MANDATE_EXPIRED" }] })
    ],
    "an ALLOW after the window": [
      "deadlines of an ALLOW",
      (events) => withData(events, 2, { execute_before: "2028-01-01T00:00:00Z" })
    ],
    "consumed without a commit": [
      "what is due comes first",
      (events) => events.filter((_, index) => index !== 2 && index !== 3)
    ]
  }
  for (const [title, [found, forge]] of Object.entries(forgeries)) {
    it.effect(`finds ${title}, the chain mended`, () =>
      Effect.gen(function* () {
        const { events, mandate } = yield* honest
        const auditor = audited()
        auditor.journal(mandate, rechained(forge(events)), NOW)
        assert.include(auditor.failed(), found)
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }

  it.effect("finds a second ALLOW of a SINGLE mandate, and that its commitment is not its own", () =>
    Effect.gen(function* () {
      const { events, mandate } = yield* honest
      const two = events.slice(0, 3)
      const second = { ...(events[2] as JsonObject), authorization_id: "aut_2", id: "evt_2" }
      const auditor = audited()
      auditor.journal(mandate, rechained([...two, second]), NOW)
      assert.includeMembers(
        [...auditor.failed()],
        ["budgets kept, late use counted, at each ALLOW", "one authorization per commitment"]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect(
    "finds a rewritten event, a stale can_execute, a state that turned back, and what is overdue",
    () =>
      Effect.gen(function* () {
        const caller = makeCaller()
        yield* fromTheStart
        const auditor = audited()
        const { resource: mandate } = yield* caller.create()
        yield* caller.approve(mandate.id)
        const { resource } = yield* caller.propose(mandate.id, proposalBody(1))
        const texts = yield* storedJournal(caller.organization.id, mandate.id)
        auditor.journal(mandate.id, texts, NOW)
        auditor.authorizationShown(resource, NOW)
        assert.deepStrictEqual(auditor.failed(), [])
        const late = "2026-12-01T00:05:00Z"
        auditor.authorizationShown(resource, late)
        assert.deepStrictEqual(auditor.failed(), ["can_execute while it may be"])
        auditor.journal(mandate.id, texts, late)
        assert.deepStrictEqual(auditor.failed(), ["everything due is recorded"])
        yield* TestClock.adjust("300 seconds")
        yield* caller.readAuthorization(resource.id)
        const after = yield* storedJournal(caller.organization.id, mandate.id)
        auditor.journal(mandate.id, after, late)
        auditor.authorizationShown({ ...resource, state: "EXPIRED", can_execute: false }, late)
        assert.deepStrictEqual(auditor.failed(), [])
        auditor.authorizationShown({ ...resource, can_execute: false }, late)
        assert.includeMembers([...auditor.failed()], ["authorizations as recorded", "outcomes stay"])
        auditor.journal(mandate.id, [...after.slice(1), "{}"], late)
        assert.include(auditor.failed(), "events as they were")
      }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("finds a mandate that is shown otherwise than recorded, or turns back", () =>
    Effect.gen(function* () {
      const { caller, mandate, texts } = yield* honest
      const auditor = audited()
      auditor.journal(mandate, texts, NOW)
      const shown = yield* caller.read(mandate)
      const { usage } = shown
      auditor.mandateShown({ ...shown, usage: { ...usage, committed_amount: 1 } }, NOW)
      assert.deepStrictEqual(auditor.failed(), ["usage as counted"])
      auditor.mandateShown({ ...shown, description: "another" }, NOW)
      assert.deepStrictEqual(auditor.failed(), ["mandates as recorded"])
      auditor.mandateShown({ ...shown, state: "ACTIVE", version: 2, updated_at: "2026-11-30T00:00:00Z" }, NOW)
      assert.includeMembers(
        [...auditor.failed()],
        ["versions never turn back", "time never turns back", "final states stay"]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("finds evidence that leaves an event out, or writes it otherwise", () =>
    Effect.gen(function* () {
      const { caller, mandate, texts } = yield* honest
      const auditor = audited()
      auditor.journal(mandate, texts, NOW)
      const envelope = yield* caller.evidence(mandate)
      const payload = new TextDecoder().decode(decodeBase64Url(envelope.payload))
      auditor.evidenceServed(mandate, payload)
      assert.deepStrictEqual(auditor.failed(), [])
      auditor.evidenceServed(mandate, payload.replace(`${texts[0]},`, ""))
      assert.deepStrictEqual(auditor.failed(), ["evidence as recorded", "event texts in evidence"])
      auditor.evidenceServed(mandate, JSON.stringify(JSON.parse(payload), undefined, 1))
      assert.deepStrictEqual(auditor.failed(), ["event texts in evidence"])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it("finds a key with two inputs or two resources", () => {
    const auditor = audited()
    auditor.written("create", "k", "{}", "mnd_1")
    auditor.written("create", "k", "{}", "mnd_1")
    assert.deepStrictEqual(auditor.failed(), [])
    auditor.written("revoke", "k", "{}", "mnd_1")
    assert.deepStrictEqual(auditor.failed(), ["one input per key"])
    auditor.written("create", "k", "[]", "mnd_1")
    assert.deepStrictEqual(auditor.failed(), ["one input per key"])
    auditor.written("create", "k", "{}", "mnd_2")
    assert.deepStrictEqual(auditor.failed(), ["one resource per key"])
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
