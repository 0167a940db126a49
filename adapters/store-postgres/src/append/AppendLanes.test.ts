import { assert, describe, it } from "@effect/vitest"
import { type Appended, Stale, StoreUnavailable, type StreamChange } from "@svc/domain/ports/MandateStore"
import { claimOf, createdChange, newSession } from "@svc/testkit/StoreFixtures"
import { newPlace } from "@svc/testkit/store-contract/StoreUnderTest"
import { Deferred, Effect, Exit, Fiber, identity, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type GroupOutcome, LANE_PATIENCE, MAX_GROUP_LENGTH, makeLanes } from "./AppendLanes.ts"

/** 2026-12-01T00:00:00Z; which instant it is matters to no lane. */
const NOW = 1_796_083_200_000_000_000n

const appended: Exit.Exit<Appended> = Exit.succeed({ revision: 1 })

const newChange = (parts: Partial<StreamChange> = {}): StreamChange => ({
  ...createdChange(newPlace(), NOW),
  ...parts
})

/** A store that records what it is asked for, and answers when it is told to. */
const makeRecorder = (outcomes: (change: StreamChange) => GroupOutcome = () => appended) => {
  const statements: Array<ReadonlyArray<StreamChange>> = []
  const gate = Deferred.makeUnsafe<void, StoreUnavailable>()
  return {
    statements,
    gate,
    write: identity<StreamChange>,
    alone: (change: StreamChange) => {
      statements.push([change])
      return Effect.andThen(Deferred.await(gate), appended)
    },
    together: (changes: ReadonlyArray<StreamChange>) => {
      statements.push(changes)
      return Effect.as(Deferred.await(gate), changes.map(outcomes))
    }
  }
}

const settled = Effect.yieldNow.pipe(Effect.repeat({ times: 20 }))

/** Appends one after another without waiting for answers, as fibers. */
const appendEach = Effect.fnUntraced(function* (
  append: (change: StreamChange) => Effect.Effect<Appended, unknown>,
  changes: ReadonlyArray<StreamChange>
) {
  const fibers: Array<Fiber.Fiber<Appended, unknown>> = []
  for (const change of changes) {
    fibers.push(yield* Effect.forkChild(append(change)))
    yield* settled
  }
  return fibers
})

const exits = (fibers: ReadonlyArray<Fiber.Fiber<Appended, unknown>>) =>
  Effect.map(Effect.forEach(fibers, Fiber.await), (all) =>
    all.map((exit) =>
      Exit.isSuccess(exit) ? "Appended" : String(exit.cause).match(/Stale|StoreUnavailable/u)?.[0]
    )
  )

describe("lanes of appends", () => {
  it.effect("send a lone change at once, and the changes that arrive meanwhile together", () =>
    Effect.gen(function* () {
      const recorder = makeRecorder()
      const append = yield* makeLanes({ lanes: 1, changes: 3 }, recorder)
      const changes = Array.from({ length: 6 }, () => newChange())
      const fibers = yield* appendEach(append, changes)
      assert.deepStrictEqual(recorder.statements, [[changes[0]!]])
      yield* Deferred.succeed(recorder.gate, undefined)
      assert.deepStrictEqual(new Set(yield* exits(fibers)), new Set(["Appended"]))
      assert.deepStrictEqual(recorder.statements, [[changes[0]!], changes.slice(1, 4), changes.slice(4)])
    })
  )

  it.effect("go on after an append is interrupted at whichever of its steps", () =>
    Effect.gen(function* () {
      for (let steps = 2; steps < 16; steps++) {
        const recorder = makeRecorder()
        yield* Deferred.succeed(recorder.gate, undefined)
        const append = yield* makeLanes({ lanes: 1, changes: 64 }, recorder)
        const interrupted = yield* Effect.forkChild(
          Effect.provideService(append(newChange()), References.MaxOpsBeforeYield, steps),
          { startImmediately: true }
        )
        interrupted.interruptUnsafe()
        yield* Fiber.await(interrupted)
        const next = yield* Effect.forkChild(append(newChange()))
        yield* Effect.repeat(settled, { times: 20 })
        assert.deepStrictEqual(next.pollUnsafe(), appended, `after ${steps} steps`)
      }
    })
  )

  it.effect("write each change once, when it arrives, and not when its statement is sent", () =>
    Effect.gen(function* () {
      const recorder = makeRecorder()
      const written: Array<StreamChange> = []
      const write = (change: StreamChange) => {
        written.push(change)
        return change
      }
      const append = yield* makeLanes({ lanes: 1, changes: 3 }, { ...recorder, write })
      const expiring = newChange({ claims: [claimOf("assertion", "jti", { expiresAt: 1n })] })
      const changes = [...Array.from({ length: 5 }, () => newChange()), expiring]
      const fibers = yield* appendEach(append, changes)
      assert.deepStrictEqual(written, changes)
      yield* Deferred.succeed(recorder.gate, undefined)
      yield* exits(fibers)
      assert.strictEqual(recorder.statements.flat().length, changes.length)
      assert.deepStrictEqual(written, changes)
    })
  )

  it.effect("never put two changes of one stream or one claim into a statement, and keep their order", () =>
    Effect.gen(function* () {
      const recorder = makeRecorder()
      const append = yield* makeLanes({ lanes: 1, changes: 64 }, recorder)
      const place = newPlace()
      const claim = claimOf("commitment", "c")
      const [first, a1, a2, b, c1, c2, a3] = [
        newChange(),
        newChange(place),
        newChange({ ...place, claims: [claim] }),
        newChange(),
        newChange({ organization: place.organization, claims: [claim] }),
        newChange({ organization: place.organization, claims: [claim] }),
        newChange(place)
      ] as const
      const fibers = yield* appendEach(append, [first, a1, a2, b, c1, c2, a3])
      yield* Deferred.succeed(recorder.gate, undefined)
      yield* exits(fibers)
      // The claim is a2's before it is c1's, though a2 waits for a1.
      assert.deepStrictEqual(recorder.statements, [[first], [a1, b], [a2], [c1, a3], [c2]])
    })
  )

  it.effect(
    "send half of what a statement has and what waits for it, so that statements become equally large",
    () =>
      Effect.gen(function* () {
        const recorder = makeRecorder()
        const append = yield* makeLanes({ lanes: 1, changes: 64 }, recorder)
        const fibers = yield* appendEach(
          append,
          Array.from({ length: 16 }, () => newChange())
        )
        yield* Deferred.succeed(recorder.gate, undefined)
        yield* exits(fibers)
        assert.deepStrictEqual(
          recorder.statements.map(({ length }) => length),
          [1, 8, 7]
        )
      })
  )

  it.effect("send the next statement before they tell anybody how the last one ended", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const gate = Deferred.makeUnsafe<void>()
      const append = yield* makeLanes(
        { lanes: 1, changes: 64 },
        {
          write: identity<StreamChange>,
          alone: () =>
            Effect.suspend(() => {
              steps.push("sent")
              return Effect.andThen(Deferred.await(gate), appended)
            }),
          together: () => Effect.die("nothing shares a statement")
        }
      )
      const told = (change: StreamChange) =>
        Effect.tap(append(change), () => Effect.sync(() => steps.push("told")))
      const fibers = yield* appendEach(told, [newChange(), newChange()])
      yield* Deferred.succeed(gate, undefined)
      yield* exits(fibers)
      assert.deepStrictEqual(steps, ["sent", "sent", "told", "told"])
    })
  )

  it.effect("send a change with a session, a subject or an expiring claim in a statement of its own", () =>
    Effect.gen(function* () {
      const recorder = makeRecorder()
      const append = yield* makeLanes({ lanes: 1, changes: 64 }, recorder)
      const change = newChange()
      const current = { now: NOW, stream: { organization: "o", state: { mandate: change.mandateState } } }
      const changes = [
        change,
        newChange({ claims: [claimOf("assertion", "jti", { expiresAt: 1n })] }),
        newChange({ sessions: [newSession(current as never)] })
      ]
      const fibers = yield* appendEach(append, changes)
      assert.deepStrictEqual(
        recorder.statements,
        changes.map((one) => [one])
      )
      yield* Deferred.succeed(recorder.gate, undefined)
      yield* exits(fibers)
    })
  )

  it.effect("give each change its own outcome, and retry one alone if the statement asks for it", () =>
    Effect.gen(function* () {
      const [first, stale, alone, good] = [newChange(), newChange(), newChange(), newChange()] as const
      const recorder = makeRecorder((change) => {
        if (change === stale) return Exit.fail(new Stale())
        return change === alone ? "alone" : appended
      })
      const append = yield* makeLanes({ lanes: 1, changes: 64 }, recorder)
      const fibers = yield* appendEach(append, [first, stale, alone, good])
      yield* Deferred.succeed(recorder.gate, undefined)
      assert.deepStrictEqual(yield* exits(fibers), ["Appended", "Stale", "Appended", "Appended"])
      assert.deepStrictEqual(recorder.statements, [[first], [stale, alone], [good], [alone]])
    })
  )

  it.effect("fail the changes of a failed statement together, and continue with the next", () =>
    Effect.gen(function* () {
      let statements = 0
      const gate = Deferred.makeUnsafe<void>()
      const append = yield* makeLanes(
        { lanes: 1, changes: 2 },
        {
          write: identity<StreamChange>,
          alone: () => Effect.andThen(Deferred.await(gate), appended),
          together: (changes) => {
            statements += 1
            return statements === 1
              ? Effect.fail(new StoreUnavailable({}))
              : Effect.succeed(changes.map(() => appended))
          }
        }
      )
      const fibers = yield* appendEach(
        append,
        Array.from({ length: 5 }, () => newChange())
      )
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* exits(fibers), [
        "Appended",
        "StoreUnavailable",
        "StoreUnavailable",
        "Appended",
        "Appended"
      ])
    })
  )

  it.effect(
    "count only the length of the changes that are taken, so that waiting changes delay no others",
    () =>
      Effect.gen(function* () {
        const recorder = makeRecorder()
        const append = yield* makeLanes({ lanes: 1, changes: 64 }, recorder)
        const place = newPlace()
        const long = () => {
          const change = newChange(place)
          return {
            ...change,
            events: change.events.map((event) => ({ ...event, text: "x".repeat(MAX_GROUP_LENGTH / 4) }))
          }
        }
        const [first, hot, other] = [newChange(), [long(), long(), long()], newChange()] as const
        const fibers = yield* appendEach(append, [first, ...hot, other])
        yield* Deferred.succeed(recorder.gate, undefined)
        yield* exits(fibers)
        assert.deepStrictEqual(recorder.statements, [[first], [hot[0]!, other], [hot[1]!], [hot[2]!]])
      })
  )

  it.effect("do not wait long for a statement that is itself blocked", () =>
    Effect.gen(function* () {
      const [stuck, stuckGroup, last] = [newChange(), [newChange(), newChange()], newChange()] as const
      const statements: Array<ReadonlyArray<StreamChange>> = []
      const append = yield* makeLanes(
        { lanes: 1, changes: 2 },
        {
          write: identity<StreamChange>,
          alone: (change) => {
            statements.push([change])
            return change === last ? appended : Effect.never
          },
          together: (changes) => {
            statements.push(changes)
            return Effect.never
          }
        }
      )
      const fibers = yield* appendEach(append, [stuck, ...stuckGroup, last])
      assert.deepStrictEqual(statements, [[stuck]])
      yield* TestClock.adjust(LANE_PATIENCE)
      assert.deepStrictEqual(statements, [[stuck], [...stuckGroup]])
      yield* TestClock.adjust(LANE_PATIENCE)
      assert.deepStrictEqual(yield* exits([fibers[3]!]), ["Appended"])
    })
  )

  it.effect("drop a change whose caller has left before it was sent", () =>
    Effect.gen(function* () {
      const recorder = makeRecorder()
      const append = yield* makeLanes({ lanes: 1, changes: 64 }, recorder)
      const [first, gone, last] = [newChange(), newChange(), newChange()] as const
      const fibers = yield* appendEach(append, [first, gone, last])
      yield* Fiber.interrupt(fibers[1]!)
      yield* Deferred.succeed(recorder.gate, undefined)
      yield* exits([fibers[0]!, fibers[2]!])
      assert.deepStrictEqual(recorder.statements, [[first], [last]])
    })
  )

  it.effect("complete every waiting change when the store closes", () =>
    Effect.gen(function* () {
      const recorder = makeRecorder()
      const scope = yield* Scope.make()
      const append = yield* Scope.provide(makeLanes({ lanes: 1, changes: 64 }, recorder), scope)
      const fibers = yield* appendEach(append, [newChange(), newChange(), newChange()])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(new Set(yield* exits(fibers)), new Set(["StoreUnavailable"]))
      const late = yield* Effect.flip(append(newChange()))
      assert.strictEqual(late._tag, "StoreUnavailable")
    })
  )
})
