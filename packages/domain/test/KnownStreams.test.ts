import { assert, describe, it } from "@effect/vitest"
import { DOUBT_SECONDS, KNOWN_LIFETIME_SECONDS } from "@svc/domain/engine/KnownStreams"
import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import { ClaimTaken, MandateStore, OutOfTime, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { commitReport, proposalBody, recurringBody, storedJournal } from "@svc/testkit/ProgramHarness"
import { Clock, Effect, References, Result } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import {
  Appends,
  answersOf,
  atOnce,
  COMMITTED,
  caller,
  comparable,
  EXPIRED,
  type Prepared,
  perform,
  prepare,
  programs,
  type Request,
  request,
  run,
  seen
} from "./MandateRequests.ts"
import { fromTheStart, setTo } from "./MemoryPrograms.ts"
import { LONG, runSettings } from "./RunSettings.ts"

const { replay, runs: numRuns, ...settings } = runSettings(100)

const SECOND = 1000

/** A process that knows nothing of streams, and loads them each time. */
const forgetful = () => ({
  ...makeTurns(),
  known: { find: () => undefined, know: () => undefined, noteClock: () => undefined, doubt: () => undefined }
})

const proposal = (number: number, name = `proposal-${number}`): Request => ({
  kind: "propose",
  number: EXPIRED + 1 + number,
  amount: 100,
  key: name
})

/** The loads and appends that a program makes, and what it gives. */
const counted = Effect.fnUntraced(function* <A, E, R>(program: Effect.Effect<A, E, R>) {
  const { loaded, offered } = yield* Appends
  const [loads, appends] = [loaded.length, offered.length]
  const value = yield* program
  return { value, loads: loaded.length - loads, appends: offered.length - appends }
})

/** The store with a clock that is never later than the last event of what is loaded. */
const standingStore = Effect.map(MandateStore, (store) =>
  MandateStore.of({
    ...store,
    load: (query) =>
      Effect.map(store.load(query), (loaded) =>
        loaded.stream === undefined ? loaded : { ...loaded, now: loaded.stream.head.occurredAt }
      )
  })
)

/** The store as a server is one: what it is given and what it gives is copied. */
const copyingStore = Effect.map(MandateStore, (store) =>
  MandateStore.of({
    ...store,
    load: (query) => Effect.map(store.load(query), (loaded) => structuredClone(loaded)),
    append: (change) => store.append(structuredClone(change))
  })
)

/** The same with a clock that stands still from now on, while that of the process goes on. */
const stoppedStore = Effect.gen(function* () {
  const store = yield* MandateStore
  const clock = yield* Clock.Clock
  const nanos = clock.currentTimeNanosUnsafe()
  const stopped: Clock.Clock = {
    ...clock,
    currentTimeNanosUnsafe: () => nanos,
    currentTimeNanos: Effect.succeed(nanos)
  }
  return MandateStore.of({
    ...store,
    load: (query) => Effect.provideService(store.load(query), Clock.Clock, stopped),
    append: (change) => Effect.provideService(store.append(change), Clock.Clock, stopped)
  })
})

/** The store with a clock that loads read ahead by so many nanoseconds, until it is set right again. */
const aheadStore = Effect.map(MandateStore, (store) => {
  const ahead = { nanos: 0n }
  const there = MandateStore.of({
    ...store,
    load: (query) => Effect.map(store.load(query), (loaded) => ({ ...loaded, now: loaded.now + ahead.nanos }))
  })
  return { ahead, there }
})

/** Multiplies every number by a hundred in place, as a host may that shows another unit. */
const inflate = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  const members = value as Record<string, unknown>
  for (const [name, member] of Object.entries(members)) {
    if (typeof member === "number") members[name] = member * 100
    else inflate(member)
  }
}

const tagOf = (result: Result.Result<unknown, { readonly _tag: string }>) =>
  Result.isFailure(result)
    ? result.failure._tag
    : (result.success as { readonly replayed: boolean }).replayed
      ? "replayed"
      : "made"

/** One request: how it ended, and the loads and appends that it took. */
const requested = (prepared: Prepared, one: Request) =>
  Effect.map(
    counted(Effect.result(perform(prepared, one))),
    ({ appends, loads, value }) => [tagOf(value), loads, appends] as const
  )

/** A mandate that was written to a moment ago, so that it is known. */
const known = Effect.gen(function* () {
  const prepared = yield* prepare
  assert.deepStrictEqual(yield* requested(prepared, proposal(0)), ["made", 1, 1])
  yield* TestClock.adjust(10)
  return prepared
})

/** The number of the authorization that made it known. */
const OPENED = EXPIRED + 1

/** The same, with that authorization among those that requests can name. */
const knownWithOpen = Effect.gen(function* () {
  const prepared = yield* known
  const { id } = (yield* Appends).offered.at(-1)!.authorizations.find(({ state }) => state === "RESERVED")!
  return { ...prepared, ids: new Map([...prepared.ids, [OPENED, id]]) }
})

describe("a command to a mandate that this process has just written to", () => {
  it(
    `is answered, recorded and leaves the mandate as if that were loaded (${replay})`,
    async () => {
      const step = fc.record({
        request,
        process: fc.constantFrom(0, 1),
        pause: fc.constantFrom(1, 1, 1, 50, 900, 1500, 4990, 5000, 70_000)
      })
      let unloaded = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
          const outcome = (processes: ReadonlyArray<ReturnType<typeof makeTurns>>) =>
            run(
              Effect.gen(function* () {
                const prepared = yield* prepare
                const { loads, value } = yield* counted(
                  Effect.forEach(steps, ({ pause, process, request: one }) =>
                    Effect.andThen(
                      TestClock.adjust(pause),
                      Effect.result(perform(prepared, one)).pipe(
                        Effect.provideService(StreamTurns, processes[process]!)
                      )
                    )
                  )
                )
                return { loads, seen: comparable({ answers: answersOf(value), ...(yield* seen(prepared)) }) }
              })
            )
          const knowing = await outcome([makeTurns(), makeTurns()])
          const loading = await outcome([forgetful(), forgetful()])
          assert.strictEqual(knowing.seen, loading.seen)
          unloaded += loading.loads - knowing.loads
        }),
        { numRuns, ...settings }
      )
      assert.isAbove(unloaded, 0)
    },
    LONG
  )

  it.effect("is decided without a load, also a report on the authorization that it gave", () =>
    Effect.gen(function* () {
      const prepared = yield* knownWithOpen
      assert.deepStrictEqual(yield* requested(prepared, proposal(1)), ["made", 0, 1])
      yield* TestClock.adjust(1)
      const commit: Request = { kind: "commit", number: OPENED, key: "report" }
      assert.deepStrictEqual(yield* requested(prepared, commit), ["made", 0, 1])
      const { offered } = yield* Appends
      const { authorizations, decidedAt } = offered.at(-1)!
      // The other that is known in full is not written again.
      assert.deepStrictEqual(
        authorizations.map(({ id }) => id),
        [prepared.ids.get(OPENED)]
      )
      assert.strictEqual(decidedAt, (yield* (yield* MandateStore).load({})).now)
    }).pipe(Effect.provide(programs))
  )

  it.effect("is decided on a load when it would not be recorded, or its key is not known to be free", () =>
    Effect.gen(function* () {
      const prepared = yield* knownWithOpen
      const outcome = (one: Request) => requested(prepared, one)
      assert.deepStrictEqual(yield* outcome({ kind: "malformed", key: "a" }), ["ValidationFailed", 1, 0])
      // The one is known, the other is not.
      for (const number of [OPENED, 1]) {
        const refund: Request = { kind: "refund", number, key: `refund-${number}` }
        assert.deepStrictEqual(yield* outcome(refund), ["StateConflict", 1, 0])
      }
      assert.deepStrictEqual(yield* outcome(proposal(0, "c")), ["CommitmentReused", 1, 2])
      const [again, loads] = yield* outcome(proposal(0))
      assert.deepStrictEqual([again, loads > 0], ["replayed", true])
      assert.deepStrictEqual(yield* outcome({ ...proposal(0), amount: 99 } as Request), [
        "IdempotencyKeyReused",
        1,
        1
      ])
      assert.deepStrictEqual(yield* outcome(proposal(1)), ["made", 0, 1])
    }).pipe(Effect.provide(programs))
  )

  it.effect("is decided on a load with those beside it when one of them would be refused", () =>
    Effect.gen(function* () {
      const prepared = yield* knownWithOpen
      // Under the key of the first proposal, which answers nothing else.
      const reused: Request = { kind: "refund", number: OPENED, key: "proposal-0" }
      const { appends, loads, value } = yield* counted(atOnce(prepared, [proposal(1), reused]))
      assert.deepStrictEqual(value.map(tagOf), ["made", "IdempotencyKeyReused"])
      assert.deepStrictEqual([loads, appends], [1, 1])
      const again = yield* counted(atOnce(prepared, [proposal(2), proposal(2)]))
      assert.deepStrictEqual(again.value.map(tagOf), ["made", "replayed"])
      assert.strictEqual(again.appends, 1)
    }).pipe(Effect.provide(programs))
  )

  it.effect(
    "is decided on a load when its authorization is closed, or known by no write of this process",
    () =>
      Effect.gen(function* () {
        const prepared = yield* known
        const refund: Request = { kind: "refund", number: COMMITTED, key: "a" }
        assert.deepStrictEqual(yield* requested(prepared, refund), ["made", 1, 1])
        assert.deepStrictEqual(yield* requested(prepared, { ...refund, key: "b" }), ["made", 1, 1])
      }).pipe(Effect.provide(programs))
  )

  it.effect("is decided on a load once that is so long ago, or something is due", () =>
    Effect.gen(function* () {
      const prepared = yield* known
      const lifetime = Number(KNOWN_LIFETIME_SECONDS) * SECOND
      yield* TestClock.adjust(lifetime - 11)
      assert.deepStrictEqual(yield* requested(prepared, proposal(1)), ["made", 0, 1])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* requested(prepared, proposal(2)), ["made", 1, 1])
      const due = Number((yield* Appends).offered.at(-1)!.nextDue! / NANOS_PER_MILLISECOND)
      yield* TestClock.setTime(due - SECOND)
      assert.deepStrictEqual(yield* requested(prepared, proposal(3)), ["made", 1, 1])
      yield* TestClock.setTime(due - 1)
      assert.deepStrictEqual(yield* requested(prepared, proposal(4)), ["made", 0, 1])
      yield* TestClock.setTime(due)
      assert.deepStrictEqual(yield* requested(prepared, proposal(5)), ["made", 1, 1])
      const { events } = (yield* Appends).offered.at(-1)!
      assert.strictEqual(events[0]!.type, "authorization.expired")
    }).pipe(Effect.provide(programs))
  )

  it.effect("is decided without a load as long as that goes on, and any load reads the store's clock", () =>
    Effect.gen(function* () {
      const prepared = yield* known
      const pause = TestClock.adjust(Number(KNOWN_LIFETIME_SECONDS) * SECOND - 100)
      for (const number of [1, 2, 3]) {
        yield* pause
        const [, loads] = yield* requested(prepared, { kind: "malformed", key: `malformed-${number}` })
        assert.strictEqual(loads, 1)
        assert.deepStrictEqual(yield* requested(prepared, proposal(number)), ["made", 0, 1])
      }
      yield* pause
      assert.deepStrictEqual(yield* requested(prepared, proposal(4)), ["made", 0, 1])
      yield* pause
      assert.deepStrictEqual(yield* requested(prepared, proposal(5)), ["made", 1, 1])
    }).pipe(Effect.provide(programs))
  )

  it.effect("is decided on a load when another process was faster, and so are those of the next second", () =>
    Effect.gen(function* () {
      const prepared = yield* known
      const other = makeTurns()
      yield* perform(prepared, proposal(1)).pipe(Effect.provideService(StreamTurns, other))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* requested(prepared, proposal(2)), ["made", 1, 2])
      yield* TestClock.adjust(Number(DOUBT_SECONDS) * SECOND - 1)
      assert.deepStrictEqual(yield* requested(prepared, proposal(3)), ["made", 1, 1])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* requested(prepared, proposal(4)), ["made", 0, 1])
    }).pipe(Effect.provide(programs))
  )

  for (const [title, refusal] of [
    ["was late", new OutOfTime()],
    ["found its key taken", undefined]
  ] as const) {
    it.effect(`is decided again on a load when its append ${title}`, () =>
      Effect.gen(function* () {
        const prepared = yield* known
        const { refusals } = yield* Appends
        refusals.push(({ claims: [claim] }) =>
          Effect.fail(refusal ?? new ClaimTaken({ ...claim!, holder: { fingerprint: "", resource: "" } }))
        )
        assert.deepStrictEqual(yield* requested(prepared, proposal(1)), ["made", 1, 2])
      }).pipe(Effect.provide(programs))
    )
  }

  it.effect("is unavailable as it would be after a load, and the next one is decided on a load", () =>
    Effect.gen(function* () {
      const prepared = yield* known
      const { refusals } = yield* Appends
      refusals.push(() => Effect.fail(new StoreUnavailable({})))
      const before = yield* storedJournal(caller.organization.id, prepared.mandate)
      assert.deepStrictEqual(yield* requested(prepared, proposal(1)), ["StoreUnavailable", 0, 1])
      assert.deepStrictEqual(yield* storedJournal(caller.organization.id, prepared.mandate), before)
      assert.deepStrictEqual(yield* requested(prepared, proposal(1)), ["made", 1, 1])
    }).pipe(Effect.provide(programs))
  )

  it.effect("is decided on a load after a failover replaced what this process knows", () =>
    Effect.gen(function* () {
      const prepared = yield* known
      const { refusals } = yield* Appends
      // A store whose stream has the revision, and other events.
      refusals.push(() => Effect.die(new Error("the events do not follow the head")))
      assert.deepStrictEqual(yield* requested(prepared, proposal(1)), ["made", 1, 2])
    }).pipe(Effect.provide(programs), Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("is answered as it was recorded when its append failed by a fault after that", () =>
    Effect.gen(function* () {
      const prepared = yield* known
      const { refusals } = yield* Appends
      const store = yield* MandateStore
      refusals.push((change) => Effect.andThen(Effect.orDie(store.append(change)), Effect.die("a fault")))
      const before = yield* storedJournal(caller.organization.id, prepared.mandate)
      const [outcome] = yield* requested(prepared, proposal(1))
      assert.strictEqual(outcome, "replayed")
      const after = yield* storedJournal(caller.organization.id, prepared.mandate)
      assert.lengthOf(after, before.length + 1)
    }).pipe(Effect.provide(programs), Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("is decided on a load while the store's clock is behind the journal", () =>
    Effect.gen(function* () {
      const prepared = yield* prepare
      assert.deepStrictEqual(yield* requested(prepared, proposal(0)), ["made", 1, 1])
      const behind = yield* standingStore
      for (const number of [1, 2]) {
        const request = requested(prepared, proposal(number)).pipe(
          Effect.provideService(MandateStore, behind)
        )
        assert.deepStrictEqual(yield* request, ["made", 1, 1])
      }
    }).pipe(Effect.provide(programs))
  )

  it.effect("is decided on a load when it goes to another store", () =>
    Effect.gen(function* () {
      const prepared = yield* known
      const store = yield* MandateStore
      const other = requested(prepared, proposal(1)).pipe(Effect.provideService(MandateStore, { ...store }))
      assert.deepStrictEqual(yield* other, ["made", 1, 1])
      assert.deepStrictEqual(yield* requested(prepared, proposal(2)), ["made", 1, 1])
    }).pipe(Effect.provide(programs))
  )

  it.effect(
    "is decided on the terms that were recorded, whatever a caller does with what it was answered",
    () =>
      Effect.gen(function* () {
        yield* fromTheStart
        const window = { starts_at: "2026-12-02T00:00:00Z", ends_at: "2027-01-01T00:00:00Z" }
        const { resource } = yield* caller.create(recurringBody({}, { window }))
        const { id } = resource
        inflate(resource)
        yield* caller.approve(id)
        yield* setTo("2026-12-02T00:00:00Z")
        // It records the activation, so that the mandate is known.
        inflate(yield* caller.read(id))
        yield* TestClock.adjust(1)
        const greedy = yield* caller.propose(id, proposalBody(1, 5001))
        assert.strictEqual(greedy.resource.decision, "DENY")
        const body = proposalBody(2, 5000)
        const allowed = yield* caller.propose(id, body)
        assert.strictEqual(allowed.resource.decision, "ALLOW")
        const { proposed_action } = structuredClone(allowed.resource)
        inflate(allowed.resource)
        inflate(body)
        const { loaded } = yield* Appends
        const loads = loaded.length
        const committed = yield* caller.commit(allowed.resource.id, commitReport(2))
        assert.strictEqual(loaded.length, loads)
        assert.deepStrictEqual(committed.resource.proposed_action, proposed_action)
      }).pipe(
        (program) =>
          Effect.flatMap(copyingStore, (store) => Effect.provideService(program, MandateStore, store)),
        Effect.provide(programs)
      )
  )

  it.effect("is decided without a load until the instant at which the first of its periods ends", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const periods = [
        { unit: "MONTH", max_amount: 9000 },
        { unit: "DAY", max_amount: 3500 }
      ]
      const { resource } = yield* caller.create(recurringBody({ periods }))
      yield* caller.approve(resource.id)
      const loadsAt = (time: string, number: number) =>
        Effect.andThen(
          setTo(time),
          Effect.map(counted(caller.propose(resource.id, proposalBody(number, 100))), ({ loads }) => loads)
        )
      assert.strictEqual(yield* loadsAt("2026-12-01T23:59:58Z", 1), 1)
      assert.strictEqual(yield* loadsAt("2026-12-01T23:59:59.999Z", 2), 0)
      assert.strictEqual(yield* loadsAt("2026-12-02T00:00:00Z", 3), 1)
      assert.strictEqual(yield* loadsAt("2026-12-02T00:00:01Z", 4), 0)
    }).pipe(Effect.provide(programs))
  )

  it.effect("is decided on a load when a period has ended since, which the store's clock alone says", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const policy = { periods: [{ unit: "DAY", max_amount: 3500 }] }
      const { resource } = yield* caller.create(recurringBody(policy))
      yield* caller.approve(resource.id)
      yield* setTo("2026-12-01T23:59:59Z")
      const propose = (number: number, amount: number) =>
        Effect.map(caller.propose(resource.id, proposalBody(number, amount)), (written) => written.resource)
      assert.strictEqual((yield* propose(1, 3000)).decision, "ALLOW")
      yield* TestClock.adjust(1)
      const stopped = yield* stoppedStore
      const proposeThere = (number: number) =>
        Effect.provideService(propose(number, 3000), MandateStore, stopped)
      assert.strictEqual((yield* proposeThere(2)).decision, "DENY")
      yield* TestClock.adjust(SECOND)
      assert.strictEqual((yield* proposeThere(3)).decision, "DENY")
      assert.strictEqual((yield* propose(4, 3000)).decision, "ALLOW")
    }).pipe(Effect.provide(programs))
  )

  it.effect("is decided at the store's clock after a load of a mandate whose journal is ahead of it", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const periods = [{ unit: "DAY", max_amount: 3500 }]
      const { id: early } = (yield* caller.create(recurringBody({ periods }))).resource
      const { id: other } = (yield* caller.create(recurringBody({ periods }))).resource
      yield* caller.approve(early)
      yield* caller.approve(other)
      const { ahead, there } = yield* aheadStore
      const propose = (mandate: string, number: number, amount: number) =>
        caller.propose(mandate, proposalBody(number, amount)).pipe(
          Effect.map(({ resource }) => resource.decision),
          Effect.provideService(MandateStore, there)
        )
      yield* setTo("2026-12-01T23:59:40Z")
      ahead.nanos = 30n * NANOS_PER_SECOND
      assert.strictEqual(yield* propose(early, 1, 1000), "ALLOW")
      ahead.nanos = 0n
      yield* TestClock.adjust(6 * SECOND)
      assert.strictEqual(yield* propose(other, 2, 3000), "ALLOW")
      assert.strictEqual(yield* propose(early, 3, 1000), "ALLOW")
      // The day has not ended, though the journal of the other mandate is in the next one.
      assert.strictEqual(yield* propose(other, 4, 3000), "DENY")
    }).pipe(Effect.provide(programs))
  )
})
