import { assert, describe, it } from "@effect/vitest"
import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import { StoreFaults } from "@svc/testkit/FaultyStore"
import {
  harnessOrganization,
  makeCaller,
  proposalBody,
  recurringBody,
  singleBody,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { everyDue } from "@svc/testkit/store-contract/StoreUnderTest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { faultyPrograms, fromTheStart, memoryPrograms, setTo } from "../../test/MemoryPrograms.ts"
import { encodeCursor } from "../engine/Cursor.ts"
import { journalPosition } from "../engine/JournalCursor.ts"
import { TimeZones, UnknownTimeZone } from "../ports/TimeZones.ts"
import { listMandates } from "./Mandates.ts"

const caller = makeCaller()
const organization = caller.organization.id

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

const instant = (text: string): bigint => parseTimestamp(text) ?? -1n

const none = {
  committed_amount: 0,
  reserved_amount: 0,
  late_amount: 0,
  committed_executions: 0,
  reserved_executions: 0,
  late_executions: 0
}

describe("a new mandate (part 4)", () => {
  it.effect("is shown with every default, and its first event holds the terms and the time zones", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const period = { unit: "MONTH", max_amount: 20_000, time_zone: "Europe/Berlin" }
      const { resource } = yield* caller.create(
        recurringBody({ periods: [period] }, { window: { ends_at: "2027-06-01T00:00:00.50Z" } })
      )
      const policy = {
        currency: "EUR",
        max_amount: 5000,
        allowed_actions: ["card.create"],
        min_amount: 1,
        max_total_amount: 9007199254740991,
        periods: [{ interval: 1, alignment: "CALENDAR", first_period: "FULL", ...period }]
      }
      const { id, ...rest } = resource
      assert.match(id, /^mnd_[0-9a-hjkmnp-tv-z]{26}$/)
      assert.deepStrictEqual(rest as unknown, {
        kind: "RECURRING",
        subject_reference: "user_8f2",
        state: "PENDING_APPROVAL",
        version: 1,
        policy,
        policy_digest: policyDigest(policy),
        window: { starts_at: "2026-12-01T00:00:00.000000000Z", ends_at: "2027-06-01T00:00:00.5Z" },
        approval_deadline: "2026-12-02T00:00:00.000000000Z",
        created_at: "2026-12-01T00:00:00.000000000Z",
        updated_at: "2026-12-01T00:00:00.000000000Z",
        usage: {
          ...none,
          periods: [
            {
              period: 0,
              starts_at: "2026-11-30T23:00:00.000000000Z",
              ends_at: "2026-12-31T23:00:00.000000000Z",
              max_amount: 20_000,
              ...none
            }
          ]
        }
      })
      const [text] = yield* storedJournal(organization, id)
      const event = JSON.parse(text ?? "")
      assert.deepStrictEqual(Object.keys(event.data).sort(), [
        "approval_deadline",
        "environment",
        "kind",
        "mandate_id",
        "organization_id",
        "policy",
        "policy_digest",
        "subject_reference",
        "time_zones",
        "window"
      ])
      assert.deepStrictEqual(
        event.data.time_zones.map((zone: { name: string; offset_seconds: number; transitions: unknown }) => [
          zone.name,
          zone.offset_seconds,
          zone.transitions
        ]),
        [
          [
            "Europe/Berlin",
            7200,
            [
              { at: "2026-10-25T01:00:00Z", offset_seconds: 3600 },
              { at: "2027-03-28T01:00:00Z", offset_seconds: 7200 }
            ]
          ]
        ]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("fixes its time zones until the last period ends, beyond the window", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const ends_at = "2027-10-15T00:00:00Z"
      const periods = [{ unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 20_000 }]
      const { id } = (yield* caller.create({ ...recurringBody({ periods }), window: { ends_at } })).resource
      const [text] = yield* storedJournal(organization, id)
      const [zone] = JSON.parse(text ?? "").data.time_zones
      assert.deepStrictEqual(zone.transitions.at(-1), { at: "2027-10-31T01:00:00Z", offset_seconds: 3600 })
      const last = yield* caller.periods({ mandateId: id, from: instant(ends_at) - 1n, limit: 100 })
      assert.deepStrictEqual(
        last.data.map(({ starts_at, ends_at: end }) => [starts_at, end]),
        [["2027-09-30T22:00:00.000000000Z", "2027-10-31T23:00:00.000000000Z"]]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("fixes no time zones if it is SINGLE, and UTC like any other zone", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const one = yield* caller.create(singleBody())
      const two = yield* caller.create(recurringBody())
      const zones = (id: string) =>
        Effect.map(storedJournal(organization, id), ([text]) => JSON.parse(text ?? "").data.time_zones)
      assert.deepStrictEqual(yield* zones(one.resource.id), [])
      assert.strictEqual((yield* zones(two.resource.id))[0].name, "UTC")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is refused with every fault if it breaks rules, and nothing is stored", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const refused = yield* Effect.flip(
        caller.create(recurringBody({ currency: "XAU", periods: [{ unit: "DAY", time_zone: "utc" }] }))
      )
      assert.deepStrictEqual(
        refused._tag === "ValidationFailed" ? refused.errors.map(({ pointer }) => pointer) : [],
        ["/policy/currency", "/policy/periods/0/time_zone", "/policy/periods/0"]
      )
      assert.deepStrictEqual((yield* caller.list({ limit: 100 })).data, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

it.effect(
  "the table of each time zone covers the periods that name it, and not those of others (part 4)",
  () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const zones = yield* TimeZones
      const asked: Array<readonly [string, bigint]> = []
      const period = { max_amount: 100, alignment: "MANDATE" }
      const periods = [
        { ...period, unit: "DAY" },
        { ...period, unit: "WEEK", time_zone: "Europe/Berlin" }
      ]
      const { resource } = yield* caller.create(recurringBody({ periods })).pipe(
        Effect.provideService(TimeZones, {
          ...zones,
          table: (request) => {
            asked.push([request.name, request.to])
            return zones.table(request)
          }
        })
      )
      const end = instant(resource.window.ends_at)
      const day = 86_400_000_000_000n
      assert.deepStrictEqual(asked, [
        ["UTC", end + day],
        ["Europe/Berlin", end + 7n * day]
      ])
    }).pipe(Effect.provide(memoryPrograms()))
)

describe("a time zone that has a name and no table", () => {
  it.effect("is refused at the first period that names it", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const zones = yield* TimeZones
      const period = { unit: "DAY", max_amount: 100 }
      const periods = [period, { ...period, time_zone: "Europe/Berlin" }, { ...period, unit: "WEEK" }]
      const refused = yield* caller.create(recurringBody({ periods })).pipe(
        Effect.provideService(TimeZones, {
          isKnown: () => true,
          table: (request) =>
            request.name === "UTC"
              ? zones.table(request)
              : Effect.fail(new UnknownTimeZone({ time_zone: request.name }))
        }),
        Effect.flip
      )
      assert.deepStrictEqual(
        refused._tag === "ValidationFailed"
          ? refused.errors.map(({ code, pointer }) => `${pointer} ${code}`)
          : [],
        ["/policy/periods/1/time_zone invalid_value"]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("reading a mandate (part 4)", () => {
  it.effect("records what is due once, before showing it", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create(
        recurringBody({}, { window: { starts_at: "2026-12-02T00:00:00Z", ends_at: "2026-12-03T00:00:00Z" } })
      )
      yield* caller.approve(resource.id)
      assert.strictEqual((yield* caller.read(resource.id)).state, "SCHEDULED")
      yield* setTo("2026-12-01T23:59:59.999Z")
      assert.strictEqual((yield* caller.read(resource.id)).state, "SCHEDULED")
      yield* setTo("2026-12-02T00:00:00Z")
      const started = yield* caller.read(resource.id)
      assert.deepStrictEqual(
        [started.state, started.version, started.updated_at],
        ["ACTIVE", 3, "2026-12-02T00:00:00.000000000Z"]
      )
      yield* setTo("2026-12-09T00:00:00Z")
      const ended = yield* caller.read(resource.id)
      assert.deepStrictEqual(
        [ended.state, ended.version, ended.ended_at, ended.end_reason],
        ["EXPIRED", 4, "2026-12-03T00:00:00.000000000Z", "WINDOW_ENDED"]
      )
      yield* caller.read(resource.id)
      assert.strictEqual((yield* storedJournal(organization, resource.id)).length, 4)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("fails with NotFound for an unknown, malformed or foreign identifier", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      const other = makeCaller(harnessOrganization({ id: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" }))
      for (const id of [
        "",
        "mnd_",
        resource.id.toUpperCase(),
        `${resource.id}0`,
        "mnd_00000000000000000000000000"
      ]) {
        assert.strictEqual(yield* tagOf(caller.read(id)), "NotFound")
      }
      assert.strictEqual(yield* tagOf(other.read(resource.id)), "NotFound")
      assert.strictEqual(yield* tagOf(other.evidence(resource.id)), "NotFound")
      assert.strictEqual(yield* tagOf(other.events({ mandateId: resource.id, limit: 1 })), "NotFound")
      assert.strictEqual(yield* tagOf(other.periods({ mandateId: resource.id, limit: 1 })), "NotFound")
      assert.strictEqual(yield* tagOf(other.authorizations({ mandateId: resource.id, limit: 1 })), "NotFound")
      assert.deepStrictEqual((yield* other.list({ limit: 100 })).data, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("revocation of a mandate (part 4)", () => {
  it.effect("is one per key, which is of one mandate", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const [first, second] = [
        (yield* caller.create(singleBody())).resource,
        (yield* caller.create(singleBody())).resource
      ]
      const revoked = yield* caller.revoke(first.id, { reason: "r" }, "k")
      assert.deepStrictEqual(yield* caller.revoke(first.id, { reason: "r" }, "k"), {
        ...revoked,
        replayed: true
      })
      assert.strictEqual(yield* tagOf(caller.revoke(second.id, { reason: "r" }, "k")), "IdempotencyKeyReused")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("ends it with its reason", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      const revoked = yield* caller.revoke(resource.id, { reason: "r".repeat(500) })
      assert.deepStrictEqual(revoked.resource.revocation, { reason: "r".repeat(500) })
      assert.strictEqual(revoked.resource.ended_at, "2026-12-01T00:00:00.000000000Z")
      assert.notProperty(revoked.resource, "end_reason")
      const refused = yield* Effect.flip(caller.revoke(resource.id, { reason: "other" }))
      assert.deepInclude(refused, {
        _tag: "StateConflict",
        currentState: "REVOKED",
        resourceId: resource.id
      })
      for (const body of [{}, { reason: "" }, { reason: "r".repeat(501) }, { reason: "r", more: 1 }]) {
        assert.strictEqual(yield* tagOf(caller.revoke(resource.id, body)), "ValidationFailed")
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("lists of mandates (part 4)", () => {
  it.effect("show the newest first, page by page, within their filters", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const ids: Array<string> = []
      for (let index = 0; index < 5; index++) {
        yield* TestClock.adjust("1 second")
        const parts = { subject_reference: index % 2 === 0 ? "even" : "odd" }
        ids.unshift((yield* caller.create(recurringBody({}, parts))).resource.id)
      }
      const shown = (page: { readonly data: ReadonlyArray<{ readonly id: string }> }) =>
        page.data.map(({ id }) => id)
      const first = yield* caller.list({ limit: 2 })
      assert.deepStrictEqual([shown(first), first.has_more], [ids.slice(0, 2), true])
      const cursor = first.next_cursor ?? ""
      const second = yield* caller.list({ limit: 3, cursor })
      assert.deepStrictEqual(
        [shown(second), second.has_more, second.next_cursor],
        [ids.slice(2), false, null]
      )
      assert.deepStrictEqual(shown(yield* caller.list({ limit: 9, subjectReference: "odd" })), [
        ids[1],
        ids[3]
      ])
      assert.deepStrictEqual(shown(yield* caller.list({ limit: 9, state: "ACTIVE" })), [])
      assert.strictEqual(yield* tagOf(caller.list({ limit: 9, state: "ACTIVE", cursor })), "InvalidCursor")
      assert.strictEqual(
        yield* tagOf(caller.list({ limit: 9, subjectReference: "odd", cursor })),
        "InvalidCursor"
      )
      assert.strictEqual(yield* tagOf(caller.list({ limit: 9, cursor: "x" })), "InvalidCursor")
      const ofAnother = listMandates({ organization: "org_00000000000000000000000000", limit: 9, cursor })
      assert.strictEqual(yield* tagOf(ofAnother), "InvalidCursor")
      const decoded = JSON.parse(Buffer.from(cursor, "base64url").toString())
      for (const after of ["", "\u0001", "mnd_'; drop", decoded.after.toUpperCase(), 1]) {
        const forged = encodeCursor(decoded.scope, after)
        assert.strictEqual(
          yield* tagOf(caller.list({ limit: 9, cursor: forged })),
          "InvalidCursor",
          `${after}`
        )
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("show a state only after it is recorded, whichever state they filter by", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* caller.list({ limit: 9, state: "EXPIRED" })).data[0]?.id, resource.id)
      assert.deepStrictEqual((yield* caller.list({ limit: 9, state: "PENDING_APPROVAL" })).data, [])
      assert.strictEqual((yield* storedJournal(organization, resource.id)).length, 2)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("bring 200 due streams up to date, and fail with progress kept when there are more", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      yield* Effect.all(Array.from({ length: 200 }, () => caller.create(singleBody())))
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* caller.list({ limit: 1, state: "EXPIRED" })).data.length, 1)
      yield* Effect.all(
        Array.from({ length: 201 }, () =>
          caller.create(singleBody({}, { window: { ends_at: "2027-02-01T00:00:00Z" } }))
        )
      )
      yield* TestClock.adjust("2 days")
      const refused = yield* Effect.flip(caller.list({ limit: 1 }))
      assert.deepInclude(refused, { _tag: "StoreUnavailable", retryAfterSeconds: 1 })
      assert.strictEqual((yield* everyDue).length, 1)
      assert.strictEqual((yield* caller.list({ limit: 1, state: "EXPIRED" })).data.length, 1)
      assert.strictEqual((yield* everyDue).length, 0)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("do not wait for streams that they cannot show", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      yield* Effect.all(Array.from({ length: 201 }, () => caller.create(singleBody())))
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual((yield* caller.list({ limit: 1, subjectReference: "nobody" })).data, [])
      const other = makeCaller(harnessOrganization({ id: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" }))
      assert.deepStrictEqual((yield* other.list({ limit: 1 })).data, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("show nothing if what is due cannot be recorded", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      yield* caller.create()
      yield* TestClock.adjust("1 day")
      const faults = yield* StoreFaults
      yield* faults.plan({ operation: "append", nth: 1, moment: "before" })
      assert.strictEqual(yield* tagOf(caller.list({ limit: 9 })), "StoreUnavailable")
      assert.strictEqual((yield* caller.list({ limit: 9 })).data[0]?.state, "EXPIRED")
    }).pipe(Effect.provide(faultyPrograms()))
  )
})

describe("lists of events (part 7)", () => {
  it.effect("are ascending and hold the stored texts unchanged", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create(recurringBody({}, { description: "Bücher \u{1f4da}" }))
      yield* caller.approve(resource.id)
      for (let number = 1; number <= 3; number++) yield* caller.propose(resource.id, proposalBody(number))
      const stored = yield* storedJournal(organization, resource.id)
      const mandateId = resource.id
      const first = yield* caller.events({ mandateId, limit: 2 })
      const cursor = first.next_cursor ?? ""
      const second = yield* caller.events({ mandateId, limit: 2, cursor })
      const third = yield* caller.events({ mandateId, limit: 2, cursor: second.next_cursor ?? "" })
      assert.deepStrictEqual([...first.data, ...second.data, ...third.data], stored)
      assert.deepStrictEqual([first.has_more, second.has_more, third.has_more], [true, true, false])
      assert.isNull(third.next_cursor)
      const other = yield* caller.create()
      assert.strictEqual(
        yield* tagOf(caller.events({ mandateId: other.resource.id, limit: 2, cursor })),
        "InvalidCursor"
      )
      const scope = { list: "events", mandate_id: mandateId }
      for (const [after, tag] of [
        [2, "InvalidCursor"],
        ["2", "InvalidCursor"],
        ["0.AAAA", "InvalidCursor"],
        // Another event at the same place, and one that the journal has not come to.
        [journalPosition(2, stored[0]!), "HistoryChanged"],
        [journalPosition(99, stored[1]!), "HistoryChanged"]
      ] as const) {
        assert.strictEqual(
          yield* tagOf(caller.events({ mandateId, limit: 2, cursor: encodeCursor(scope, after) })),
          tag
        )
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("include what has come due until now", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      yield* TestClock.adjust("1 day")
      const { data } = yield* caller.events({ mandateId: resource.id, limit: 9 })
      assert.deepStrictEqual(
        data.map((text) => JSON.parse(text).type),
        ["mandate.created", "mandate.expired"]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("lists of periods (part 4)", () => {
  const setUp = Effect.gen(function* () {
    yield* fromTheStart
    const { resource } = yield* caller.create(
      recurringBody(
        {
          periods: [
            { unit: "MONTH", max_amount: 3100, first_period: "PRORATED", time_zone: "Europe/Berlin" },
            { unit: "WEEK", max_executions: 2 }
          ]
        },
        { window: { starts_at: "2026-12-11T23:00:00Z", ends_at: "2027-02-01T00:00:00Z" } }
      )
    )
    return resource.id
  })

  it.effect("begin for each policy period with the one that contains from", () =>
    Effect.gen(function* () {
      const mandateId = yield* setUp
      const { data } = yield* caller.periods({ mandateId, limit: 2 })
      assert.deepStrictEqual(data, [
        {
          period: 0,
          starts_at: "2026-11-30T23:00:00.000000000Z",
          ends_at: "2026-12-31T23:00:00.000000000Z",
          max_amount: 2000
        },
        {
          period: 0,
          starts_at: "2026-12-31T23:00:00.000000000Z",
          ends_at: "2027-01-31T23:00:00.000000000Z",
          max_amount: 3100
        },
        {
          period: 1,
          starts_at: "2026-12-07T00:00:00.000000000Z",
          ends_at: "2026-12-14T00:00:00.000000000Z",
          max_executions: 2
        },
        {
          period: 1,
          starts_at: "2026-12-14T00:00:00.000000000Z",
          ends_at: "2026-12-21T00:00:00.000000000Z",
          max_executions: 2
        }
      ])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("end with the window, and take an earlier from as starts_at", () =>
    Effect.gen(function* () {
      const mandateId = yield* setUp
      const late = yield* caller.periods({ mandateId, from: instant("2027-01-31T22:59:59Z"), limit: 100 })
      assert.deepStrictEqual(
        late.data.map(({ period, starts_at }) => [period, starts_at]),
        [
          [0, "2026-12-31T23:00:00.000000000Z"],
          [0, "2027-01-31T23:00:00.000000000Z"],
          [1, "2027-01-25T00:00:00.000000000Z"]
        ]
      )
      const early = yield* caller.periods({ mandateId, from: instant("2000-01-01T00:00:00Z"), limit: 1 })
      assert.strictEqual(early.data[0]?.starts_at, "2026-11-30T23:00:00.000000000Z")
      const after = yield* caller.periods({ mandateId, from: instant("9999-12-31T23:59:59Z"), limit: 1 })
      assert.deepStrictEqual(after.data, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
