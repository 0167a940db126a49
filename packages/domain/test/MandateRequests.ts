/** Requests of all kinds to one mandate, and what can be seen of them. */
import { makeTurns, mandateTurnKey, StreamTurns } from "@svc/domain/engine/StreamTurns"
import {
  type ClaimTaken,
  type LoadQuery,
  MandateStore,
  type OutOfTime,
  type Stale,
  type StoreUnavailable,
  type StreamChange
} from "@svc/domain/ports/MandateStore"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import {
  cancelReport,
  commitReport,
  makeCaller,
  type ProgramPorts,
  proposalBody,
  recurringBody,
  refundReport,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { Context, Deferred, Effect, Fiber, Layer, ManagedRuntime, Result } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { fromTheStart, memoryPrograms } from "./MemoryPrograms.ts"

/** Numbers of the authorizations that there are beforehand: open, committed, and expired by the time of the commands. */
export const OPEN = [1, 2]
export const COMMITTED = 3
export const EXPIRED = 4

/** A request to the prepared mandate, as one of its callers sends it. */
export type Request =
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

export const request: fc.Arbitrary<Request> = fc.oneof(
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

export const caller = makeCaller()

/** What was loaded, changes that were offered for recording, and what the next ones meet instead. */
export class Appends extends Context.Service<
  Appends,
  {
    readonly loaded: Array<LoadQuery>
    readonly offered: Array<StreamChange>
    readonly refusals: Array<
      (change: StreamChange) => Effect.Effect<never, Stale | OutOfTime | ClaimTaken | StoreUnavailable>
    >
  }
>()("@svc/domain/test/Appends") {}

export const programs = Layer.effectContext(
  Effect.map(MandateStore, (store) => {
    const appends = Appends.of({ loaded: [], offered: [], refusals: [] })
    return Context.make(MandateStore, {
      ...store,
      load: (query) =>
        Effect.suspend(() => {
          appends.loaded.push(query)
          return store.load(query)
        }),
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
export const prepare = Effect.gen(function* () {
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

export type Prepared = Effect.Success<typeof prepare>

const proposalOf = ({ amount, attributes, number }: Request & { readonly kind: "propose" }) =>
  attributes === undefined
    ? proposalBody(number, amount)
    : proposalBody(number, amount, {
        proposed_action: { action: "card.create", payment: { amount, currency: "EUR" }, attributes }
      })

export const perform = (
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
export const begunAtOnce = Effect.fnUntraced(function* (
  prepared: Prepared,
  requests: ReadonlyArray<Request>
) {
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

export const atOnce = Effect.fnUntraced(function* (prepared: Prepared, requests: ReadonlyArray<Request>) {
  return yield* Effect.forEach(yield* begunAtOnce(prepared, requests), Fiber.join)
})

export const oneByOne = (prepared: Prepared, requests: ReadonlyArray<Request>) =>
  Effect.forEach(requests, (one) => Effect.result(perform(prepared, one)))

/** Text in which identifiers are numbered as they appear, without the hashes, which depend on them. */
export const comparable = (value: unknown): string => {
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
export const answersOf = (results: ReadonlyArray<Result.Result<unknown, unknown>>) =>
  results.map((result) => {
    if (Result.isFailure(result)) return { refused: { ...(result.failure as object) } }
    const answer = result.success as {
      readonly replayed?: boolean
      readonly resource?: { readonly id: string }
    }
    return answer.replayed === true ? { replayOf: answer.resource?.id } : answer
  })

/** Everything that can be seen of a mandate. */
export const seen = Effect.fnUntraced(function* ({ ids, mandate }: Prepared) {
  const store = yield* MandateStore
  const { organization } = caller
  const journal = yield* storedJournal(organization.id, mandate)
  const query = { organization: organization.id, stream: { mandate }, authorizations: [...ids.values()] }
  const { stream } = yield* store.load(query)
  const { authorizations, mandate: state, open } = stream!.state
  return { journal, state, open, authorizations: [...authorizations] }
})

export const run = <A, E>(program: Effect.Effect<A, E, ProgramPorts | Appends>): Promise<A> => {
  const runtime = ManagedRuntime.make(Layer.mergeAll(programs, TestClock.layer()))
  return runtime.runPromise(program).finally(() => runtime.dispose())
}
