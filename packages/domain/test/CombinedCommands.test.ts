import { assert, describe, it } from "@effect/vitest"
import { MAX_BATCH_BYTES } from "@svc/domain/engine/CommandBatch"
import { MAX_BATCH_COMMANDS } from "@svc/domain/engine/RunCommand"
import {
  ClaimTaken,
  OutOfTime,
  Stale,
  StoreUnavailable,
  type StreamChange
} from "@svc/domain/ports/MandateStore"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { HARNESS_START, storedJournal } from "@svc/testkit/ProgramHarness"
import { Effect, Exit, Fiber, References, Result } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import {
  Appends,
  answersOf,
  atOnce,
  begunAtOnce,
  COMMITTED,
  caller,
  comparable,
  EXPIRED,
  oneByOne,
  prepare,
  programs,
  type Request,
  request,
  run,
  seen
} from "./MandateRequests.ts"
import { LONG, runSettings } from "./RunSettings.ts"

const { replay, runs: numRuns, ...settings } = runSettings(100)

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
