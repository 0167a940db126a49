import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import type { JsonObject } from "@svc/protocol/json/Json"
import { formatInstant, formatNanos, type Instant } from "@svc/protocol/Timestamp"
import {
  type Caller,
  commitReport,
  type ProgramPorts,
  proposalBody,
  recurringBody,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { DAY } from "@svc/testkit/StoreFixtures"
import { Context, Effect, Fiber, Latch, Result } from "effect"
import { newCaller, processOn } from "./ProgramsOnPostgres.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

const MILLISECOND = 1_000_000n
/** How far ahead the deadlines lie; a machine that is too busy for that gets more with each attempt. */
const LEAD = 1000n * MILLISECOND
const LIFETIME_MILLISECONDS = 5000n
const POLL = "20 millis"
const TIMEOUT = 120_000

const atOnce = { concurrency: "unbounded" } as const

const schema = `held_${randomBytes(6).toString("hex")}`

const ports = processOn({ url: server?.url ?? "", schema })

/** A process that comes to a stop between its decision and the write, until it is let go. */
const stoppedAtAppend = (context: Context.Context<ProgramPorts>) => {
  const store = Context.get(context, MandateStore)
  const stopped = Latch.makeUnsafe(false)
  const goOn = Latch.makeUnsafe(false)
  const outcomes: Array<string> = []
  const append: MandateStore["Service"]["append"] = (change) =>
    Effect.gen(function* () {
      yield* stopped.open
      yield* goOn.await
      const result = yield* Effect.result(store.append(change))
      outcomes.push(Result.isSuccess(result) ? "Appended" : result.failure._tag)
      return yield* Effect.fromResult(result)
    })
  const own = Context.make(MandateStore, { ...store, append }).pipe(Context.add(StreamTurns, makeTurns()))
  return { context: Context.merge(context, own), goOn, outcomes, stopped }
}

const clockOf = (organization: string) =>
  Effect.flatMap(MandateStore, (store) => Effect.map(store.load({ organization }), ({ now }) => now))

/** Waits for the store's clock, reading nothing else of the store. */
const until = Effect.fnUntraced(function* (organization: string, at: Instant) {
  while ((yield* clockOf(organization)) < at) yield* Effect.sleep(POLL)
})

interface Scene {
  readonly mandate: string
  readonly authorization: string
  readonly deadline: Instant
}

/** An ACTIVE mandate with one reservation, whose window ends soon. */
const endingSoon = Effect.fnUntraced(function* (caller: Caller, lead: bigint) {
  const deadline = (yield* clockOf(caller.organization.id)) + lead
  const { resource } = yield* caller.create(
    recurringBody({}, { window: { ends_at: formatInstant(deadline) } })
  )
  yield* caller.approve(resource.id)
  const { resource: authorization } = yield* caller.propose(resource.id, proposalBody(1))
  return { mandate: resource.id, authorization: authorization.id, deadline }
})

/** A mandate that must be approved soon. */
const decidedSoon = Effect.fnUntraced(function* (caller: Caller, lead: bigint) {
  const now = yield* clockOf(caller.organization.id)
  const deadline = now + lead
  const times: JsonObject = {
    window: { ends_at: formatInstant(now + 30n * DAY) },
    approval_deadline: formatInstant(deadline)
  }
  const { resource } = yield* caller.create(recurringBody({}, times))
  return { mandate: resource.id, authorization: "", deadline }
})

/** The answer in a word: the state of the resource, the codes of its reasons, or the refusal. */
const wordOf = (result: Result.Result<unknown, unknown>): string => {
  if (Result.isFailure(result)) return (result.failure as { readonly _tag: string })._tag
  const { resource } = result.success as {
    resource?: { state: string; reasons?: ReadonlyArray<{ code: string }> }
  }
  return [resource?.state, ...(resource?.reasons ?? []).map(({ code }) => code)].join(" ")
}

const report = (deadline: Instant): JsonObject => ({ reported_accepted_at: formatInstant(deadline) })

interface Case {
  readonly name: string
  readonly scene: typeof endingSoon | typeof decidedSoon
  readonly request: (caller: Caller, scene: Scene) => Effect.Effect<unknown, unknown, ProgramPorts>
  readonly answer: string
  /** Types of the events from the deadline on. */
  readonly recorded: Array<string>
}

const EXPIRIES = ["authorization.expired", "mandate.expired"]

const CASES: ReadonlyArray<Case> = [
  {
    name: "a commit",
    scene: endingSoon,
    request: (caller, { authorization, deadline }) =>
      caller.commit(authorization, commitReport(1, report(deadline))),
    answer: "TerminalStateConflict",
    recorded: [...EXPIRIES, "authorization.outcome_conflict"]
  },
  {
    name: "a cancellation",
    scene: endingSoon,
    request: (caller, { authorization }) => caller.cancel(authorization),
    answer: "TerminalStateConflict",
    recorded: [...EXPIRIES, "authorization.outcome_conflict"]
  },
  {
    name: "a proposal",
    scene: endingSoon,
    request: (caller, { mandate }) => caller.propose(mandate, proposalBody(2)),
    answer: "DENIED MANDATE_EXPIRED",
    recorded: [...EXPIRIES, "authorization.denied"]
  },
  {
    name: "a revocation",
    scene: endingSoon,
    request: (caller, { mandate }) => caller.revoke(mandate),
    answer: "StateConflict",
    recorded: EXPIRIES
  },
  {
    name: "an approval",
    scene: decidedSoon,
    request: (caller, { mandate }) => caller.approve(mandate),
    answer: "StateConflict",
    recorded: ["mandate.expired"]
  },
  {
    name: "a refusal by the end user",
    scene: decidedSoon,
    request: (caller, { mandate }) => caller.reject(mandate),
    answer: "StateConflict",
    recorded: ["mandate.expired"]
  }
]

interface Held {
  readonly answer: string
  /** What the store said to the write that was held. */
  readonly outcome: string | undefined
  /** The journal as it was before that write was let go, and as it is in the end. */
  readonly shown: Array<string>
  readonly journal: Array<string>
  readonly deadline: Instant
}

/** Holds the write of a case over its deadline. `undefined` when the machine was too busy to get it there before. */
const holdOnce = Effect.fnUntraced(function* (one: Case, isShown: boolean, lead: bigint) {
  const caller = newCaller()
  const organization = caller.organization.id
  const made = yield* Effect.result(one.scene(caller, lead))
  if (Result.isFailure(made)) return undefined
  const scene = made.success
  const process = stoppedAtAppend(yield* Effect.context<ProgramPorts>())
  const fiber = yield* Effect.forkChild(
    Effect.result(one.request(caller, scene)).pipe(Effect.provide(process.context))
  )
  // On a busy machine the deadline may have been recorded already, and there is nothing left to write.
  yield* Effect.raceFirst(process.stopped.await, Fiber.await(fiber))
  const isLate = (yield* clockOf(organization)) >= scene.deadline
  yield* until(organization, scene.deadline)
  if (isShown) yield* caller.read(scene.mandate)
  const shown = yield* storedJournal(organization, scene.mandate)
  yield* process.goOn.open
  const answer = wordOf(yield* Fiber.join(fiber))
  const journal = yield* storedJournal(organization, scene.mandate)
  const held: Held = { answer, outcome: process.outcomes[0], shown, journal, deadline: scene.deadline }
  return isLate ? undefined : held
})

const hold = Effect.fnUntraced(function* (one: Case, isShown: boolean) {
  for (let lead = LEAD; ; lead *= 2n) {
    const held = yield* holdOnce(one, isShown, lead)
    if (held !== undefined) return held
  }
})

const assertHeld = (held: Held, { answer, name, recorded }: Case, isShown: boolean): void => {
  assert.strictEqual(held.outcome, isShown ? "Stale" : "OutOfTime", name)
  assert.strictEqual(held.answer, answer, name)
  assert.deepStrictEqual(held.journal.slice(0, held.shown.length), held.shown, name)
  const events = held.journal.map((text) => JSON.parse(text))
  const deadline = formatNanos(held.deadline)
  const after = events.filter(({ occurred_at }) => occurred_at >= deadline)
  assert.deepStrictEqual(
    after.map(({ type }) => type),
    recorded,
    name
  )
  // What expires does so at the deadline itself, whoever records it and whenever.
  for (const { occurred_at, type } of after) {
    if (type.endsWith(".expired")) assert.strictEqual(occurred_at, deadline, name)
  }
  const instants = events.map(({ occurred_at }) => occurred_at)
  assert.deepStrictEqual(instants, instants.toSorted(), name)
}

describe.skipIf(server === undefined)("a write that is paused between its decision and the store", () => {
  afterAll(() => server?.stop())

  for (const isShown of [false, true]) {
    const others = isShown ? "others have seen" : "nobody has seen"
    it.live(
      `is refused and decided again after a deadline that ${others}`,
      () =>
        Effect.gen(function* () {
          const context = yield* ports
          const all = yield* Effect.forEach(CASES, (one) => hold(one, isShown), atOnce).pipe(
            Effect.provide(context)
          )
          all.forEach((held, index) => {
            const one = CASES[index]
            if (one !== undefined) assertHeld(held, one, isShown)
          })
          assert.strictEqual(all.length, CASES.length)
        }),
      TIMEOUT
    )
  }

  it.live(
    "is decided again at the later instant if the pause outlasts a decision",
    () =>
      Effect.gen(function* () {
        const context = yield* ports
        const caller = newCaller()
        const organization = caller.organization.id
        const at = Effect.provide(context)
        const { authorization, mandate } = yield* endingSoon(caller, DAY).pipe(at)
        const process = stoppedAtAppend(context)
        const fiber = yield* Effect.forkChild(
          caller
            .commit(authorization, commitReport(1, report(yield* clockOf(organization).pipe(at))))
            .pipe(Effect.provide(process.context))
        )
        yield* process.stopped.await
        const released = (yield* clockOf(organization).pipe(at)) + LIFETIME_MILLISECONDS * MILLISECOND
        yield* until(organization, released).pipe(at)
        yield* process.goOn.open
        const { resource } = yield* Fiber.join(fiber)
        assert.strictEqual(resource.state, "COMMITTED")
        assert.deepStrictEqual(process.outcomes, ["OutOfTime", "Appended"])
        const texts = yield* storedJournal(organization, mandate).pipe(at)
        const { occurred_at, type } = JSON.parse(texts.at(-1) ?? "")
        assert.strictEqual(type, "authorization.committed")
        assert.isAtLeast(Date.parse(occurred_at), Number(released / MILLISECOND))
      }),
    TIMEOUT
  )
})
