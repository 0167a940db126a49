import { assert, describe, it } from "@effect/vitest"
import { MAX_BATCH_BYTES } from "@svc/domain/engine/CommandBatch"
import { MAX_BATCH_COMMANDS } from "@svc/domain/engine/RunCommand"
import { makeTurns, mandateTurnKey, StreamTurns } from "@svc/domain/engine/StreamTurns"
import {
  ClaimTaken,
  MandateStore,
  OutOfTime,
  Stale,
  StoreUnavailable,
  type StreamChange
} from "@svc/domain/ports/MandateStore"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import {
  cancelReport,
  commitReport,
  HARNESS_START,
  makeCaller,
  type ProgramPorts,
  proposalBody,
  recurringBody,
  refundReport,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { Context, Deferred, Effect, Exit, Fiber, Layer, ManagedRuntime, References, Result } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { fromTheStart, memoryPrograms } from "./MemoryPrograms.ts"
import { LONG, runSettings } from "./RunSettings.ts"

const { replay, runs: numRuns, ...settings } = runSettings(100)

/** Numbers of the authorizations that there are beforehand: open, committed, and expired by the time of the commands. */
const OPEN = [1, 2]
const COMMITTED = 3
const EXPIRED = 4

type Request =
  | {
      readonly kind: "propose"
      readonly number: number
      readonly amount: number
      readonly key: string
      readonly attributes?: Readonly<Record<string, string>>
    }
  | { readonly kind: "commit" | "cancel" | "refund"; readonly number: number; readonly key: string }
  | { readonly kind: "revoke" | "malformed"; readonly key: string }
  | { readonly kind: "read" }
  | { readonly kind: "look"; readonly number: number }

const key = fc.constantFrom("a", "b", "c", "d", "e", "before")
const existing = fc.integer({ min: 1, max: EXPIRED })

const request: fc.Arbitrary<Request> = fc.oneof(
  fc.record({
    kind: fc.constant("propose" as const),
    number: fc.integer({ min: EXPIRED, max: 9 }),
    amount: fc.constantFrom(500, 1000, 3000),
    key
  }),
  fc.record({ kind: fc.constantFrom("commit" as const, "cancel", "refund"), number: existing, key }),
  fc.record({ kind: fc.constant("look" as const), number: existing }),
  fc.constant({ kind: "read" as const }),
  fc.record({ kind: fc.constant("malformed" as const), key }),
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("revoke" as const), key }) }
)

const caller = makeCaller()

/** Changes that were offered for recording, and what the next ones meet instead. */
class Appends extends Context.Service<
  Appends,
  {
    readonly offered: Array<StreamChange>
    readonly refusals: Array<(change: StreamChange) => Effect.Effect<never, Stale | OutOfTime | ClaimTaken>>
  }
>()("@svc/domain/test/Appends") {}

const programs = Layer.effectContext(
  Effect.map(MandateStore, (store) => {
    const appends = Appends.of({ offered: [], refusals: [] })
    return Context.make(MandateStore, {
      ...store,
      append: (change) =>
        Effect.suspend(() => {
          appends.offered.push(change)
          return appends.refusals.shift()?.(change) ?? store.append(change)
        })
    }).pipe(Context.add(Appends, appends))
  })
).pipe(
  Layer.provideMerge(Layer.fresh(MemoryStore.layer)),
  Layer.provideMerge(memoryPrograms()),
  Layer.merge(Layer.sync(StreamTurns, makeTurns))
)

/** A mandate with room for three executions and 3500 a day, with authorizations in every state. */
const prepare = Effect.gen(function* () {
  yield* fromTheStart
  const { resource } = yield* caller.create(
    recurringBody({ periods: [{ unit: "DAY", max_amount: 3500 }], max_executions: 5 }),
    "create"
  )
  yield* caller.approve(resource.id)
  const ids = new Map<number, string>()
  for (const number of [...OPEN, COMMITTED, EXPIRED]) {
    const window = number === EXPIRED ? { execution_window_seconds: 60 } : {}
    const proposed = yield* caller.propose(
      resource.id,
      proposalBody(number, 400, window),
      number === EXPIRED ? "before" : `before-${number}`
    )
    ids.set(number, proposed.resource.id)
  }
  yield* caller.commit(ids.get(COMMITTED)!, commitReport(COMMITTED), "before-commit")
  // The last one has expired, and nobody has recorded it yet.
  yield* TestClock.adjust("2 minutes")
  return { mandate: resource.id, ids }
})

type Prepared = Effect.Success<typeof prepare>

const proposalOf = ({ amount, attributes, number }: Request & { readonly kind: "propose" }) =>
  attributes === undefined
    ? proposalBody(number, amount)
    : proposalBody(number, amount, {
        proposed_action: { action: "card.create", payment: { amount, currency: "EUR" }, attributes }
      })

const perform = (
  { ids, mandate }: Prepared,
  one: Request
): Effect.Effect<unknown, { readonly _tag: string }, ProgramPorts> => {
  const id = "number" in one ? (ids.get(one.number) ?? "") : ""
  switch (one.kind) {
    case "propose":
      return caller.propose(mandate, proposalOf(one), one.key)
    case "malformed":
      return caller.propose(mandate, { amount: "many" }, one.key)
    case "commit":
      return caller.commit(id, commitReport(one.number), one.key)
    case "cancel":
      return caller.cancel(id, cancelReport(), one.key)
    case "refund":
      return caller.refund(id, refundReport(50), one.key)
    case "revoke":
      return caller.revoke(mandate, { reason: "enough" }, one.key)
    case "read":
      return caller.read(mandate)
    case "look":
      return caller.readAuthorization(id)
  }
}

/** Starts requests at once, so that all of them wait for one turn. */
const begunAtOnce = Effect.fnUntraced(function* (prepared: Prepared, requests: ReadonlyArray<Request>) {
  const turns = yield* StreamTurns
  const place = { organization: caller.organization.id, mandate: prepared.mandate }
  const gate = yield* Deferred.make<void>()
  yield* Effect.forkChild(turns.inTurn(mandateTurnKey(place))(Deferred.await(gate)), {
    startImmediately: true
  })
  const fibers = yield* Effect.forEach(requests, (one) =>
    Effect.forkChild(Effect.result(perform(prepared, one)), { startImmediately: true })
  )
  yield* Deferred.succeed(gate, undefined)
  return fibers
})

const atOnce = Effect.fnUntraced(function* (prepared: Prepared, requests: ReadonlyArray<Request>) {
  return yield* Effect.forEach(yield* begunAtOnce(prepared, requests), Fiber.join)
})

const oneByOne = (prepared: Prepared, requests: ReadonlyArray<Request>) =>
  Effect.forEach(requests, (one) => Effect.result(perform(prepared, one)))

/** Text in which identifiers are numbered as they appear, without the hashes, which depend on them. */
const comparable = (value: unknown): string => {
  const numbers = new Map<string, number>()
  return JSON.stringify(value, (name, member) =>
    /hash$/u.test(name) ? undefined : typeof member === "bigint" ? `${member}` : member
  )
    .replaceAll(/\\?"(?:previous_)?hash\\?":\\?"[^"\\]*\\?",?/gu, "")
    .replaceAll(/(evt|aut|mnd)_[0-9a-z]{26}/gu, (id, prefix) => {
      if (!numbers.has(id)) numbers.set(id, numbers.size)
      return `${prefix} ${numbers.get(id)}`
    })
}

/** What was answered. A replay shows its resource as it is once those beside it are recorded, so only its name counts. */
const answersOf = (results: ReadonlyArray<Result.Result<unknown, unknown>>) =>
  results.map((result) => {
    if (Result.isFailure(result)) return { refused: { ...(result.failure as object) } }
    const answer = result.success as {
      readonly replayed?: boolean
      readonly resource?: { readonly id: string }
    }
    return answer.replayed === true ? { replayOf: answer.resource?.id } : answer
  })

/** Everything that can be seen of a mandate. */
const seen = Effect.fnUntraced(function* ({ ids, mandate }: Prepared) {
  const store = yield* MandateStore
  const { organization } = caller
  const journal = yield* storedJournal(organization.id, mandate)
  const query = { organization: organization.id, stream: { mandate }, authorizations: [...ids.values()] }
  const { stream } = yield* store.load(query)
  const { authorizations, mandate: state, open } = stream!.state
  return { journal, state, open, authorizations: [...authorizations] }
})

const run = <A, E>(program: Effect.Effect<A, E, ProgramPorts | Appends>): Promise<A> => {
  const runtime = ManagedRuntime.make(Layer.mergeAll(programs, TestClock.layer()))
  return runtime.runPromise(program).finally(() => runtime.dispose())
}

describe("commands that are decided together", () => {
  it(
    `answer, record and leave the mandate as they do one by one (${replay})`,
    async () => {
      let combined = 0
      await fc.assert(
        fc.asyncProperty(fc.array(request, { minLength: 2, maxLength: 12 }), async (requests) => {
          const outcome = (way: typeof atOnce | typeof oneByOne) =>
            run(
              Effect.gen(function* () {
                const prepared = yield* prepare
                const { offered } = yield* Appends
                const before = offered.length
                const answers = answersOf(yield* way(prepared, requests))
                const appends = offered.length - before
                return { appends, seen: comparable({ answers, ...(yield* seen(prepared)) }) }
              })
            )
          const [together, alone] = [await outcome(atOnce), await outcome(oneByOne)]
          assert.strictEqual(together.seen, alone.seen)
          assert.isAtMost(together.appends, 1)
          if (alone.appends > 1) combined += 1
        }),
        { numRuns, ...settings }
      )
      assert.isAbove(combined, 0)
    },
    LONG
  )

  const proposals = (...keys: ReadonlyArray<string>): ReadonlyArray<Request> =>
    keys.map((name, index) => ({ kind: "propose", number: EXPIRED + 1 + index, amount: 100, key: name }))

  const tags = (results: ReadonlyArray<Result.Result<unknown, { readonly _tag: string }>>) =>
    results.map((result) =>
      Result.isSuccess(result)
        ? (result.success as { readonly replayed: boolean }).replayed
          ? "replayed"
          : "made"
        : result.failure._tag
    )

  it.effect("record nothing when none of them shows the mandate, also of what is due", () =>
    Effect.gen(function* () {
      const prepared = yield* prepare
      const { offered } = yield* Appends
      const before = offered.length
      const malformed = ["a", "b"].map((name) => ({ kind: "malformed", key: name }) as const)
      assert.deepStrictEqual(tags(yield* atOnce(prepared, malformed)), [
        "ValidationFailed",
        "ValidationFailed"
      ])
      assert.lengthOf(offered, before)
    }).pipe(Effect.provide(programs))
  )

  it.effect("are decided again, all of them, when another process is faster or the decision is late", () =>
    Effect.gen(function* () {
      const prepared = yield* prepare
      const { offered, refusals } = yield* Appends
      refusals.push(
        () => Effect.fail(new Stale()),
        () => Effect.fail(new OutOfTime())
      )
      const before = offered.length
      assert.deepStrictEqual(tags(yield* atOnce(prepared, proposals("a", "b"))), ["made", "made"])
      assert.deepStrictEqual(
        offered.slice(before).map(({ claims }) => claims.length),
        [4, 4, 4]
      )
    }).pipe(Effect.provide(programs))
  )

  it.effect("of which one finds its key or commitment taken meanwhile: it alone is a replay or refused", () =>
    Effect.gen(function* () {
      const prepared = yield* prepare
      const { refusals } = yield* Appends
      const taken =
        (kind: "idempotency_key" | "commitment", index: number, own: boolean) => (change: StreamChange) => {
          const claim = change.claims.filter((one) => one.kind === kind)[index]!
          const fingerprint = own ? claim.fingerprint : "other input"
          const holder = { fingerprint, resource: prepared.ids.get(COMMITTED)! }
          return Effect.fail(new ClaimTaken({ kind, name: claim.name, holder }))
        }
      refusals.push(
        taken("idempotency_key", 1, true),
        taken("idempotency_key", 1, false),
        taken("commitment", 1, true)
      )
      const [first, replayed, reused, spent, last] = yield* atOnce(
        prepared,
        proposals("a", "b", "c", "d", "e")
      )
      assert.deepStrictEqual(tags([first!, replayed!, reused!, spent!, last!]), [
        "made",
        "replayed",
        "IdempotencyKeyReused",
        "CommitmentReused",
        "made"
      ])
    }).pipe(Effect.provide(programs))
  )

  it.effect("fail alone when one of them cannot be recorded by a fault of the program", () =>
    Effect.gen(function* () {
      const prepared = yield* prepare
      const { refusals } = yield* Appends
      const broken = (change: StreamChange) =>
        change.claims.some(({ name }) => name === "b") ? Effect.die(new Error("planted")) : undefined
      for (let times = 0; times < 4; times++) refusals.push(broken as never)
      const exits = yield* Effect.forEach(yield* begunAtOnce(prepared, proposals("a", "b", "c")), Fiber.await)
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
    }).pipe(Effect.provide(programs), Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("are all unavailable when the store is, and none of them is recorded", () =>
    Effect.gen(function* () {
      const prepared = yield* prepare
      const { refusals } = yield* Appends
      refusals.push(() => Effect.fail(new StoreUnavailable({})) as never)
      const before = yield* storedJournal(caller.organization.id, prepared.mandate)
      const answers = tags(yield* atOnce(prepared, proposals("a", "b", "c")))
      assert.deepStrictEqual(answers, ["StoreUnavailable", "StoreUnavailable", "StoreUnavailable"])
      assert.deepStrictEqual(yield* storedJournal(caller.organization.id, prepared.mandate), before)
      assert.deepStrictEqual(tags(yield* atOnce(prepared, proposals("a", "b", "c"))), [
        "made",
        "made",
        "made"
      ])
    }).pipe(Effect.provide(programs))
  )

  it.effect("must be recorded before the earliest instant at which any of them may differ", () =>
    Effect.gen(function* () {
      const prepared = yield* prepare
      const { offered } = yield* Appends
      const midnight = HARNESS_START + 86_400_000
      yield* TestClock.setTime(midnight - 2000)
      const report: Request = { kind: "refund", number: COMMITTED, key: "a" }
      yield* atOnce(prepared, [report, ...proposals("b"), { ...report, key: "c" }])
      const { claims, recordBefore } = offered.at(-1)!
      assert.lengthOf(claims, 4)
      assert.strictEqual(recordBefore, BigInt(midnight) * NANOS_PER_MILLISECOND)
    }).pipe(Effect.provide(programs))
  )

  it.effect("are at most so many, and their events at most so many bytes", () =>
    Effect.gen(function* () {
      const prepared = yield* prepare
      const { offered } = yield* Appends
      const sizes = (before: number) =>
        offered
          .slice(before)
          .map(({ claims }) => claims.filter(({ kind }) => kind === "idempotency_key").length)
      const names = (count: number) => Array.from({ length: count }, (_, index) => `${count}-${index}`)
      const attributes = Object.fromEntries(names(50).map((name) => [name, "x".repeat(200)]))
      const large = proposals(...names(40)).map((one) => ({ ...one, attributes }))
      yield* atOnce(prepared, large)
      const [, ...changes] = offered.slice(-3)
      const bytes = changes.map(({ headAfter, headBefore }) => headAfter.bytes - headBefore!.bytes)
      assert.isAtLeast(bytes[0]!, MAX_BATCH_BYTES)
      assert.isBelow(bytes[0]!, MAX_BATCH_BYTES + bytes[0]! / 20)
      assert.deepStrictEqual(
        sizes(offered.length - 2).reduce((sum, size) => sum + size),
        40
      )
      const before = offered.length
      yield* atOnce(
        prepared,
        names(100).map((name) => ({ kind: "revoke", key: name }))
      )
      assert.deepStrictEqual(sizes(before), [MAX_BATCH_COMMANDS, 100 - MAX_BATCH_COMMANDS])
    }).pipe(Effect.provide(programs))
  )
})
